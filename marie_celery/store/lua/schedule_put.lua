-- Writes the definition of a schedule, unless somebody else has changed it since it was read.
--   ARGV[3]  name   ARGV[4]  the definition that was read, '' = none   ARGV[5]  the new one
--   ARGV[6]  its next slot, '' = none (nothing that waits is fired either), '=' = as it is   ARGV[7]  when that is due
--   ARGV[8]  what this is called in the event: added, changed …   ARGV[9]  by whom
-- Returns { OK } | { STALE }.
-- Events: schedule '' → ARGV[8].
-- @include schedule
-- @generate codes

local name, slot = ARGV[3], ARGV[6]
local present = redis.call('HGET', P .. 'schedules', name)
if (present or '') ~= ARGV[4] then return { STALE } end
redis.call('HSET', P .. 'schedules', name, ARGV[5])
if slot ~= '=' then set_next(name, slot, ARGV[7]) end
if slot == '' then redis.call('DEL', schedule_waiting(name)) end
look_again(name)
event('schedule', name, '', ARGV[8], '', ARGV[9])
wake()
return { OK }

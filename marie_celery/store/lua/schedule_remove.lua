-- Forgets a schedule. Its runs stay.
--   ARGV[3]  name   ARGV[4]  by whom
-- Returns { OK } | { UNKNOWN }.
-- Events: schedule '' → removed.
-- @include schedule
-- @generate codes

local name = ARGV[3]
if redis.call('HDEL', P .. 'schedules', name) == 0 then return { UNKNOWN } end
redis.call('DEL', schedule_state(name), schedule_waiting(name))
redis.call('ZREM', P .. 'schedule:next', name)
event('schedule', name, '', 'removed', '', ARGV[4])
return { OK }

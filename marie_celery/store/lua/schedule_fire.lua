-- An operator wants a run now, also of a paused schedule: a slot of this very moment is taken, or waits in front of the
-- others until it may go.
--   ARGV[3]  name   ARGV[4]  by whom   ARGV[5]  allow | skip | queue | replace   ARGV[6]  milliseconds of the lease
-- Returns { OK, slot, 1 if the caller has to fire it, else 0 } | { UNKNOWN }.
-- Events: schedule '' → ordered; with replace, the cancelling of the last run.
-- @include slot
-- @generate codes

local name, overlap, slot = ARGV[3], ARGV[5], int(NOW)
if redis.call('HEXISTS', P .. 'schedules', name) == 0 then return { UNKNOWN } end
event('schedule', name, '', 'ordered', slot, ARGV[4])
local may_go = redis.call('HEXISTS', schedule_state(name), 'lease') == 0 and
  (overlap == 'allow' or overlap == 'replace' or not still_going(name))
if may_go then
  begin_firing(name, slot, overlap, ARGV[6])
else
  redis.call('LPUSH', schedule_waiting(name), slot)
end
look_again(name)
return { OK, slot, may_go and 1 or 0 }

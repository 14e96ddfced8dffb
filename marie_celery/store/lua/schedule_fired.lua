-- A slot has become a run, or was refused for good.
--   ARGV[3]  name   ARGV[4]  slot   ARGV[5]  run, '' = refused   ARGV[6]  why it was refused
-- Returns { OK } | { STALE } if somebody else has reported it.
-- Events: schedule due → fired | failed.
-- @include schedule
-- @generate codes

local name, slot, run = ARGV[3], ARGV[4], ARGV[5]
local key = schedule_state(name)
if redis.call('HGET', key, 'firing') ~= slot then return { STALE } end
redis.call('HDEL', key, 'firing', 'lease', 'error')
redis.call('HSET', key, 'at', int(NOW))
if run == '' then
  redis.call('HSET', key, 'error', ARGV[6])
  count('schedulesFailed')
  event('schedule', name, 'due', 'failed', slot .. ': ' .. ARGV[6])
else
  redis.call('HSET', key, 'run', run)
  count('schedulesFired')
  event('schedule', name, 'due', 'fired', slot .. ' as ' .. run)
end
look_again(name)
return { OK }

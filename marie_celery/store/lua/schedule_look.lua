-- Which schedules have something to do.
--   ARGV[3]  how many at most
-- Returns { now, ms until the next that has nothing to do yet or -1, { name, definition, slot, busy } … }: the slot that
-- is due or '', and busy = '1' if a slot is being fired or waits.
-- @include schedule

local all = P .. 'schedule:next'
local later = redis.call('ZRANGEBYSCORE', all, '(' .. int(NOW), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
local answer = { NOW, later[2] and tonumber(later[2]) - NOW or -1 }
if tonumber(ARGV[3]) == 0 then return answer end
for _, name in ipairs(redis.call('ZRANGEBYSCORE', all, '-inf', int(NOW), 'LIMIT', 0, ARGV[3])) do
  local definition = redis.call('HGET', P .. 'schedules', name)
  if definition then
    local found = redis.call('HMGET', schedule_state(name), 'next', 'due', 'lease')
    local slot = found[2] and tonumber(found[2]) <= NOW and found[1] or ''
    local busy = found[3] or redis.call('LLEN', schedule_waiting(name)) > 0
    answer[#answer + 1] = { name, definition, slot, busy and '1' or '0' }
  else
    redis.call('ZREM', all, name)
  end
end
return answer

-- One consistent look at all executors.
-- Returns { { executor, capacity, target or '', ready, { holder, worker … }, { worker, slots … }, of the ready ones
-- those that are short of a resource } … }.
-- @include slots
-- @include ready

local function ready_for(executor)
  local ready = redis.call('ZCARD', parked_key(executor))
  for _, lane in ipairs(lanes_of(executor)) do ready = ready + jobs_on_offer(lane) end
  return ready
end

local answer = {}
for _, executor in ipairs(redis.call('SMEMBERS', P .. 'executors')) do
  local holders = {}
  for _, attempt in ipairs(redis.call('ZRANGE', slots_key(executor), 0, 999)) do
    holders[#holders + 1] = attempt
    holders[#holders + 1] = redis.call('HGET', job_key(string.match(attempt, '^(.+)%.%d+$')), 'worker') or ''
  end
  answer[#answer + 1] = {
    executor,
    capacity_of(executor),
    redis.call('HGET', executor_key(executor), 'target') or '',
    ready_for(executor),
    holders,
    redis.call('HGETALL', executor_key(executor) .. ':workers'),
    redis.call('ZCARD', parked_key(executor)),
  }
end
return answer

-- What could be dispatched now: per executor with room, its best jobs by rank.
--   ARGV[3]  how many beyond the room   ARGV[4]  how many per executor at most
-- Returns { { executor, room, waiting, { job, n × value … } … } … }, the values in the order of Candidate in records.py.
-- @include slots

local answer = {}
for _, executor in ipairs(redis.call('SMEMBERS', P .. 'executors')) do
  local waiting = redis.call('ZCARD', ready_key(executor))
  local room = capacity_of(executor) - redis.call('ZCARD', slots_key(executor))
  local jobs = {}
  if waiting > 0 and room > 0 then
    local most = math.min(room + tonumber(ARGV[3]), tonumber(ARGV[4]))
    for _, id in ipairs(redis.call('ZRANGE', ready_key(executor), 0, most - 1)) do
      local job = redis.call('HMGET', job_key(id), 'task', 'level', 'priority', 'soft', 'hard', 'at',
        'estimate', 'time_limit', 'soft_time_limit')
      jobs[#jobs + 1] = { id, unpack(job, 1, 9) }
    end
  end
  answer[#answer + 1] = { executor, room, waiting, jobs }
end
return answer

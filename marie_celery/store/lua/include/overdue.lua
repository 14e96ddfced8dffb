-- @include ready
-- Gives ready jobs their new place whose rank has changed by time alone. Returns how many were looked at.
local function rank_overdue(most)
  local due = redis.call('ZRANGEBYSCORE', P .. 'rerank', '-inf', int(NOW), 'WITHSCORES', 'LIMIT', 0, most)
  local promotions = 0
  for i = 1, #due, 2 do
    local id, moment = due[i], tonumber(due[i + 1])
    if redis.call('HGET', job_key(id), 'state') == 'ready' then
      local job = rank_again(id)
      local timeout = planner().starvation_ms
      local before = effective_priority(job.priority, moment - 1 - job.ready, timeout)
      local after = effective_priority(job.priority, NOW - job.ready, timeout)
      promotions = promotions + math.ceil((after - before) / 10)
    else
      redis.call('ZREM', P .. 'rerank', id)
    end
  end
  if promotions > 0 then redis.call('HINCRBY', P .. 'counters', 'starvationPromotions', promotions) end
  return #due / 2
end

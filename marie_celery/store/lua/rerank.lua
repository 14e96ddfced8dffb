-- Gives ready jobs their new place whose rank has changed by time alone: what changed is looked at, not what waits.
--   ARGV[3]  how many at most
-- Returns { ranked again, milliseconds until the next change or -1 }.
-- @include ready

local due = redis.call('ZRANGEBYSCORE', P .. 'rerank', '-inf', int(NOW), 'WITHSCORES', 'LIMIT', 0, ARGV[3])
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
local next = redis.call('ZRANGE', P .. 'rerank', 0, 0, 'WITHSCORES')
return { #due / 2, next[2] and math.max(0, tonumber(next[2]) - NOW) or -1 }

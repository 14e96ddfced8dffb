-- @include place
-- SLAs are absolute times, or `…_in` milliseconds from now, made absolute by the clock of Redis. Without any of its
-- own, a job has those of its run (`inherited`); otherwise it is watched by itself.
local function settle_slas(key, id, inherited)
  local given = redis.call('HMGET', key, 'soft_in', 'hard_in', 'sla')
  if given[1] then redis.call('HSET', key, 'soft', int(NOW + tonumber(given[1]))) end
  if given[2] then redis.call('HSET', key, 'hard', int(NOW + tonumber(given[2]))) end
  if given[1] or given[2] then redis.call('HDEL', key, 'soft_in', 'hard_in') end
  if inherited and inherited[1] then redis.call('HSETNX', key, 'soft', inherited[1]) end
  if inherited and inherited[2] then redis.call('HSETNX', key, 'hard', inherited[2]) end
  if not inherited or given[3] then
    local both = redis.call('HMGET', key, 'soft', 'hard')
    local soft, hard = tonumber(both[1]), tonumber(both[2])
    -- Its own hard SLA may be before the soft one of its run, which then means nothing here.
    if soft and hard and hard < soft then
      redis.call('HDEL', key, 'soft')
      soft = nil
    end
    local first = earliest(soft, hard)
    if first then
      redis.call('ZADD', P .. 'sla', int(first), id)
      wake()
    end
  end
end

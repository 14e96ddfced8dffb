-- Takes a map whose items are to be made; until the lease ends nobody else does.
--   ARGV[3]  milliseconds of the lease
-- Returns { ms until the next or -1 } | { ms, map, number of the claim, items made so far, batch or '', inputs,
-- { number, result … } of the lists, name, graph or '', jobs of the run }.
-- @include ranges
-- @include base

local function until_next()
  local next = redis.call('ZRANGE', P .. 'expand', 0, 0, 'WITHSCORES')
  return next[2] and math.max(0, tonumber(next[2]) - NOW) or -1
end

local id = redis.call('ZRANGEBYSCORE', P .. 'expand', '-inf', int(NOW), 'LIMIT', 0, 1)[1]
if not id then return { until_next() } end
local run = run_key(run_of(id))
local map = redis.call('HMGET', job_key(id), 'state', 'made', 'batch', 'lists', 'name', 'graph')
if map[1] ~= 'active' or redis.call('HEXISTS', run, 'cancel') == 1 then
  redis.call('ZREM', P .. 'expand', id)
  return { until_next() }
end
redis.call('ZADD', P .. 'expand', int(NOW + tonumber(ARGV[3])), id)
local claim = redis.call('HINCRBY', job_key(id), 'claim', 1)
local lists = {}
each_number(map[4] or '', 0, function(number)
  lists[#lists + 1] = int(number)
  lists[#lists + 1] = redis.call('HGET', run .. ':results', int(number))
  return true
end)
return { until_next(), id, claim, tonumber(map[2] or 0), map[3] or '',
  redis.call('HGET', run .. ':inputs', number_of(id)), lists, map[5], map[6] or '',
  tonumber(redis.call('HGET', run, 'jobs')) }

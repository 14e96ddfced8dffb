-- Declares a resource or changes its size. What is booked stays booked.
--   ARGV[3]  name   ARGV[4]  its definition as the caller knows it, '' = there is none   ARGV[5]  as it is to be
--   ARGV[6]  kind   ARGV[7]  size: units, limit or burst   ARGV[8]  nano-tokens per millisecond
--   ARGV[9]  'hold' | 'skip' | '' = as the executor or the settings say   ARGV[10] by whom
--   then     n, n × item that comes; n, n × item that goes
-- Returns { OK } | { STALE } if the definition has changed meanwhile: nothing was done.
-- Events: resource → defined | resized.
-- @include resources
-- @generate codes

local name, before, kind = ARGV[3], ARGV[4], ARGV[6]
if (redis.call('HGET', P .. 'resources', name) or '') ~= before then return { STALE } end
redis.call('HSET', P .. 'resources', name, ARGV[5])

local at, on = 11, resource_key(name)
local function take()
  at = at + 1
  return ARGV[at - 1]
end

local size = tonumber(ARGV[7])
if kind == 'rate' then
  local level = before == '' and size * TOKEN or bucket_of(name).level
  redis.call('HSET', on, 'level', int(math.min(level, size * TOKEN)), 'at', int(NOW), 'gain', ARGV[8])
end
redis.call('HSET', on, 'kind', kind, 'size', int(size))
if ARGV[9] == '' then redis.call('HDEL', on, 'on_shortage') else redis.call('HSET', on, 'on_shortage', ARGV[9]) end

for _ = 1, tonumber(take()) do
  local item = take()
  if redis.call('SREM', on .. ':leaving', item) == 0 and not redis.call('ZSCORE', on .. ':items', item) then
    local order = redis.call('HINCRBY', on, 'items', 1)
    redis.call('ZADD', on .. ':items', order, item)
    redis.call('ZADD', on .. ':free', order, item)
  end
end
for _ = 1, tonumber(take()) do
  local item = take()
  if redis.call('ZREM', on .. ':free', item) == 1 then
    redis.call('ZREM', on .. ':items', item)
  elseif redis.call('ZSCORE', on .. ':items', item) then
    redis.call('SADD', on .. ':leaving', item)
  end
end

event('resource', name, '', before == '' and 'defined' or 'resized', ARGV[5], ARGV[10])
for _, line in ipairs(redis.call('ZRANGE', P .. 'supply', 0, 999)) do
  if string.match(line, '^([^@/]+)') == name then redis.call('ZADD', P .. 'supply', int(NOW), line) end
end
wake()
return { OK }

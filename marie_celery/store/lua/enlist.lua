-- A scheduler reports for duty, and again with every heartbeat.
--   ARGV[3]  its id   ARGV[4]  milliseconds until it counts as gone   ARGV[5]  '1' if it must be the only one
--   ARGV[6]  n, then n × (field, value)                host, pid, what its graph looks like
-- Returns { OK } | { DUPLICATE, the other one }.
-- @include base
-- @generate codes

local id = ARGV[3]
local all = P .. 'schedulers'
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', all, '-inf', int(NOW), 'LIMIT', 0, 100)) do
  if gone ~= id then
    redis.call('ZREM', all, gone)
    redis.call('DEL', P .. 'scheduler:' .. gone, P .. 'scheduler:' .. gone .. ':commands')
  end
end
local other
for _, known in ipairs(redis.call('ZRANGE', all, 0, 999)) do
  if known ~= id and (ARGV[5] == '1' or redis.call('HGET', P .. 'scheduler:' .. known, 'exclusive') == '1') then
    other = other or known
  end
end
if other and not redis.call('ZSCORE', all, id) then return { DUPLICATE, other } end

redis.call('ZADD', all, int(NOW + tonumber(ARGV[4])), id)
redis.call('HSET', P .. 'scheduler:' .. id, 'seen_at', int(NOW), 'exclusive', ARGV[5],
  unpack(ARGV, 7, 6 + tonumber(ARGV[6]) * 2))
return { OK }

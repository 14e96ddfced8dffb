-- Makes jobs ready whose delay is over.
--   ARGV[3]  how many at most
-- Returns { promoted, milliseconds until the next is due or -1 }.
-- Events: job retry → ready.
-- @include settle

local due = redis.call('ZRANGEBYSCORE', P .. 'delayed', '-inf', int(NOW), 'LIMIT', 0, ARGV[3])
for _, id in ipairs(due) do
  redis.call('ZREM', P .. 'delayed', id)
  make_ready(id, 'retry')
end
local next = redis.call('ZRANGE', P .. 'delayed', 0, 0, 'WITHSCORES')
return { #due, next[2] and math.max(0, tonumber(next[2]) - NOW) or -1 }

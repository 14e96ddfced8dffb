-- Hands the oldest message of a lane to a consumer, which holds it until it settles it or its lease ends.
--   ARGV[3]  edge   ARGV[4]  consumer   ARGV[5]  milliseconds of its lease   ARGV[6]  lane
--   then     n × number of a message that it knows it holds   from ARGV[7]
-- Returns { 'ok' | 'empty', state of the edge …, { entry } } as include/edge.lua tells.
-- @include edge

local consumer, lane = ARGV[4], ARGV[6]
hold_on(consumer, ARGV[5])

-- It holds one that it does not know of: the answer that brought it was lost on the way.
local known = {}
for i = 7, #ARGV do known[ARGV[i]] = true end
for _, entry in ipairs(redis.call('ZRANGE', held_key(consumer), 0, -1)) do
  if string.match(entry, '^%a+') == lane and not known[number_in(entry)] then
    return answer('ok', { entry })
  end
end

local entry = redis.call('LPOP', lane_key(lane))
if not entry then return answer('empty') end
redis.call('ZADD', held_key(consumer), number_in(entry), entry)
add('taken')
room_made()
return answer('ok', { entry })

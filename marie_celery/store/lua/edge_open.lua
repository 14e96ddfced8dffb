-- Declares an edge between processes, or its new capacity; what it holds stays.
--   ARGV[3]  edge   ARGV[4]  capacity   ARGV[5]  policy, '' to leave it
-- Returns { 'ok', state of the edge … } as include/edge.lua tells.
-- @include edge

redis.call('HSET', E, 'capacity', ARGV[4])
if ARGV[5] ~= '' then redis.call('HSET', E, 'policy', ARGV[5]) end
room_made()
return answer('ok')

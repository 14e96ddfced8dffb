-- Looks at an edge. A consumer that looks renews its lease; what consumers with an ended lease held is handed out
-- again.
--   ARGV[3]  edge   ARGV[4]  consumer, '' if none looks   ARGV[5]  milliseconds of its lease
--   ARGV[6]  '1' to bring the newest data message
-- Returns { 'ok', state of the edge …, { newest data entry, its mark } } as include/edge.lua tells.
-- @include edge

if ARGV[4] ~= '' then hold_on(ARGV[4], ARGV[5]) end
local dead = redis.call('ZRANGEBYSCORE', E .. ':consumers', '-inf', int(NOW), 'LIMIT', 0, 10)
for _, consumer in ipairs(dead) do give_back(consumer) end

local tail = ARGV[6] == '1' and redis.call('LINDEX', lane_key('data'), -1)
if not tail then return answer('ok') end
return answer('ok', { tail, number_in(tail) .. '.' .. (redis.call('HGET', E, 'coalesced') or '0') })

-- Forgets a message that its consumer has dealt with.
--   ARGV[3]  edge   ARGV[4]  consumer   ARGV[5]  number of the message
-- Returns { 'ok' | 'late', state of the edge … } as include/edge.lua tells; late: its lease had ended.
-- @include edge

local removed = redis.call('ZREMRANGEBYSCORE', held_key(ARGV[4]), ARGV[5], ARGV[5])
return answer(removed == 1 and 'ok' or 'late')

-- Gives ready jobs their new place whose rank has changed by time alone: what changed is looked at, not what waits.
--   ARGV[3]  how many at most
-- Returns { ranked again, milliseconds until the next change or -1 }.
-- @include overdue

local ranked = rank_overdue(ARGV[3])
local next = redis.call('ZRANGE', P .. 'rerank', 0, 0, 'WITHSCORES')
return { ranked, next[2] and math.max(0, tonumber(next[2]) - NOW) or -1 }

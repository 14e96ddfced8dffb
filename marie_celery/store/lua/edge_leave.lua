-- A consumer says good-bye: what it holds is handed out again at once.
--   ARGV[3]  edge   ARGV[4]  consumer
-- Returns { 'ok', state of the edge … } as include/edge.lua tells.
-- @include edge

give_back(ARGV[4])
return answer('ok')

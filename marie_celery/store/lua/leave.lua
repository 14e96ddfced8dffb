-- A worker says good-bye: its capacity goes at once.
--   ARGV[3]  worker
-- Returns { OK }.
-- @include slots
-- @generate codes

drop_worker(ARGV[3])
wake()
return { OK }

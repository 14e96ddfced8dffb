-- A map cannot take items from what it was given: it fails.
--   ARGV[3]  map   ARGV[4]  number of the claim   ARGV[5]  error as JSON
-- Returns { OK } | { STALE }.
-- Events: map active → failed; skips of its children; the end of the run.
-- @include settle
-- @generate codes

local id = ARGV[3]
local map = redis.call('HMGET', job_key(id), 'state', 'claim')
if map[1] ~= 'active' or map[2] ~= ARGV[4] then return { STALE } end
redis.call('ZREM', P .. 'expand', id)
redis.call('HSET', run_key(run_of(id)) .. ':errors', number_of(id), ARGV[5])
bury(id, 'active', 'failed')
settle()
wake()
return { OK }

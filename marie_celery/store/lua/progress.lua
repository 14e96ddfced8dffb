-- A worker tells how far its attempt is. It holds for this attempt alone: readers compare the tokens.
--   ARGV[3]  job   ARGV[4]  token   ARGV[5]  part that is done, 0–1   ARGV[6]  a few words
-- Returns { OK } | { STALE }.
-- Events: none.
-- @include base
-- @generate codes

local key = job_key(ARGV[3])
local job = redis.call('HMGET', key, 'state', 'token')
if job[1] ~= 'active' or job[2] ~= ARGV[4] then
  count('fencedWrites')
  return { STALE }
end
redis.call('HSET', key, 'progress', ARGV[5], 'progress_note', ARGV[6], 'progress_token', ARGV[4])
return { OK }

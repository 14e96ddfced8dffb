-- A worker begins an attempt.
--   ARGV[3]  job   ARGV[4]  token   ARGV[5]  worker   ARGV[6]  id of the Celery message
--   ARGV[7]  milliseconds of the run lease
-- Returns { OK, what it needs to know as include/begin.lua tells } | { STALE }.
-- Events: job dispatched → active.
-- @include begin
-- @generate codes

local id, token, worker = ARGV[3], ARGV[4], ARGV[5]
local job = redis.call('HMGET', job_key(id), 'state', 'token', 'executor', 'worker', 'final')
local is_cancelled = redis.call('HEXISTS', run_key(run_of(id)), 'cancel') == 1 and not job[5]
if job[1] ~= 'dispatched' or job[2] ~= token or is_cancelled then
  -- A message that is delivered twice must not take the slot of the process that runs it, or is just being stopped.
  if job[2] == token and not job[4] then
    free_slot(job[3], worker, attempt_id(id, token))
    wake()
  end
  count('fencedWrites')
  return { STALE }
end
redis.call('ZADD', slots_key(job[3]), int(NOW + tonumber(ARGV[7])), attempt_id(id, token))
return { OK, begin(id, token, worker, ARGV[6]) }

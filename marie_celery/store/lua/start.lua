-- A worker begins an attempt.
--   ARGV[3]  job   ARGV[4]  token   ARGV[5]  worker   ARGV[6]  id of the Celery message
--   ARGV[7]  milliseconds of the run lease
-- Returns { OK, what it needs to know as include/begin.lua tells } | { STALE }.
-- Events: job dispatched → active.
-- @include begin
-- @generate codes

local id, token, worker = ARGV[3], ARGV[4], ARGV[5]
local job = facts_of(id)
local is_cancelled = facts_of_run(run_of(id)).cancel and not job.final
if job.state ~= 'dispatched' or job.token ~= token or is_cancelled then
  -- A message that is delivered twice must not take the slot of the process that runs it, or is just being stopped.
  if job.token == token and not job.worker then
    free_slot(job.executor, worker, attempt_id(id, token))
    wake()
  end
  count('fencedWrites')
  return { STALE }
end
redis.call('ZADD', slots_key(job.executor), int(NOW + tonumber(ARGV[7])), attempt_id(id, token))
move(id, 'dispatched', 'active', nil, worker, 'worker', worker)
return { OK, begin(job, token, worker, ARGV[6]) }

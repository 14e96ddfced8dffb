-- Cancels a run or a job, for good.
--   ARGV[3]  'run' | 'job'   ARGV[4]  id   ARGV[5]  why   ARGV[6]  by whom
--   ARGV[7]  '' or the token that the job must still have
-- Returns { OK } | { UNKNOWN } | { ENDED, state } | { STALE }.
-- Events: job … → cancelled; for a job, skips of its children; the end of the run.
-- @include cancel
-- @generate codes

local kind, id, why, by = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local key = kind == 'run' and run_key(id) or job_key(id)
local state = redis.call('HGET', key, 'state')
if not state or redis.call('HGET', run_key(run_of(id)), 'state') == 'staging' then return { UNKNOWN } end

if kind == 'run' then
  if redis.call('HEXISTS', key, 'ended_at') == 1 then return { ENDED, state } end
  if redis.call('HEXISTS', key, 'cancel') == 0 then cancel_run(id, why, by) end
else
  if ARGV[7] ~= '' and redis.call('HGET', key, 'token') ~= ARGV[7] then return { STALE } end
  if not stop_job(id, 'cancelled', why, by) then return { ENDED, state } end
  settle()
end
wake()
return { OK }

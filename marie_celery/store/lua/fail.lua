-- An attempt has failed. Whether the job runs again is decided here, with its counters in the same step.
--   ARGV[3]  job   ARGV[4]  token   ARGV[5]  worker
--   ARGV[6]  kind: failure | timeout | crash
--   ARGV[7]  error as JSON
--   ARGV[8]  '1' if the error forbids another try
--   ARGV[9]  milliseconds to wait, '' = by the policy
--   ARGV[10] 0–1 for the jitter
-- Returns { OK, new state } | { STALE }.
-- Events: job active | dispatched → retry | ready | failed; skips of its children; the end of the run.
-- @include retry
-- @generate codes

local id, token, worker = ARGV[3], ARGV[4], ARGV[5]
local job = redis.call('HMGET', job_key(id), 'state', 'token', 'executor', 'spec')
if job[3] then free_slot(job[3], worker, attempt_id(id, token)) end
wake()
if (job[1] ~= 'active' and job[1] ~= 'dispatched') or job[2] ~= token then
  count('fencedWrites')
  return { STALE }
end

redis.call('HSET', run_key(run_of(id)) .. ':errors', number_of(id), ARGV[7])
local state = fail_attempt(id, job[1], ARGV[6], job[4], ARGV[8] == '1', tonumber(ARGV[9]), tonumber(ARGV[10]), worker)
settle()
return { OK, state }

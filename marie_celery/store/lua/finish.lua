-- A worker has completed (or skipped) an attempt: store the result, free the slot, unblock what comes next.
--   ARGV[3]  job   ARGV[4]  token   ARGV[5]  worker
--   ARGV[6]  'completed' | 'skipped'
--   ARGV[7]  result as JSON, or the reason of the skip
-- Returns { OK } | { STALE }. The freed slot stays in hand until the end of the script, which is where a next job
-- of the same executor can be given to this worker.
-- Events: job active → completed | skipped; created → ready | skipped for its children; the end of the run.
-- @include settle
-- @include estimate
-- @generate codes

local id, token, worker = ARGV[3], ARGV[4], ARGV[5]
local job = redis.call('HMGET', job_key(id), 'state', 'token', 'executor', 'task', 'at')
if job[3] then free_slot(job[3], worker, attempt_id(id, token)) end
if job[1] ~= 'active' or job[2] ~= token then
  count('fencedWrites')
  wake()
  return { STALE }
end

if ARGV[6] == 'completed' then
  redis.call('HSET', run_key(run_of(id)) .. ':results', number_of(id), ARGV[7])
  observe_runtime(job[4], NOW - tonumber(job[5]))
  end_job(id, 'active', 'completed', nil, worker)
else
  end_job(id, 'active', 'skipped', ARGV[7], worker)
end
settle()
wake()
return { OK }

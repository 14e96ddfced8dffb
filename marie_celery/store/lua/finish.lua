-- A worker has completed (or skipped) an attempt: store the result, free the slot, unblock what comes next. The slot may
-- go straight to the best job that waits for it, which this worker then goes on with.
--   ARGV[3]  job   ARGV[4]  token   ARGV[5]  worker
--   ARGV[6]  'completed' | 'skipped'
--   ARGV[7]  result as JSON, or the reason of the skip
--   ARGV[8]  id of the Celery message under which it would go on, '' = it does not
--   ARGV[9]  milliseconds of the run lease   ARGV[10] limit over all executors together, 0 = none
--   ARGV[11] milliseconds of the dispatch lease
-- Returns { OK, next job as include/relay.lua tells or nothing } | { STALE }.
-- Events: job active → completed | skipped; created → ready | skipped for its children; the end of the run; those of a
-- dispatch and a start.
-- @include estimate
-- @include relay
-- @include sending

local id, token, worker = ARGV[3], ARGV[4], ARGV[5]
local job = redis.call('HMGET', job_key(id), 'state', 'token', 'executor', 'task', 'at', 'needs', 'children', 'map', 'paths',
  'behind')
local executor = job[3]
if executor then
  is_quiet(executor)
  free_slot(executor, worker, attempt_id(id, token), job[6])
end
if job[1] ~= 'active' or job[2] ~= token then
  count('fencedWrites')
  wake()
  return { STALE }
end

calls_for, at_hand = { [executor] = true }, {}
families[id] = { job[7], job[8], job[9], job[10] }
if ARGV[6] == 'completed' then
  local run, number = run_of(id), number_of(id)
  redis.call('HSET', run_key(run) .. ':results', number, ARGV[7])
  last_result = { run, number, ARGV[7] }
  -- Of a long run the first jobs tell how long a task takes, and after them every eighth.
  number = tonumber(number)
  if number < 64 or number % 8 == 0 then observe_runtime(job[4], NOW - tonumber(job[5])) end
  end_job(id, 'active', 'completed', nil, worker)
else
  end_job(id, 'active', 'skipped', ARGV[7], worker)
end
settle()

limit_all(tonumber(ARGV[10]))
local taken
if ARGV[8] ~= '' then
  taken = take_next(executor, worker, ARGV[8], tonumber(ARGV[9]))
  settle()
end
fill_or_wake(calls_for, tonumber(ARGV[11]))
return { OK, taken }

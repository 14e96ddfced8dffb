-- @include settle
-- Ends the job if it has not ended. A process that still runs it keeps its slot until it stops or its lease ends;
-- its heartbeat is told to stop it, and whatever it reports is fenced off by the state.
local STOPPABLE = { created = true, ready = true, dispatched = true, active = true, retry = true, held = true }

-- to: cancelled, or expired by an SLA.
local function stop_job(id, to, why, by)
  local job = redis.call('HMGET', job_key(id), 'state', 'executor', 'tenant')
  if not STOPPABLE[job[1]] then return false end
  if job[1] == 'ready' then
    leave_ready(id, job[2], job[3])
  elseif job[1] == 'retry' then
    redis.call('ZREM', P .. 'delayed', id)
  elseif job[1] == 'held' then
    redis.call('ZREM', P .. 'held', id)
  end
  end_job(id, job[1], to, why, by)
  return true
end

-- What runs last runs always: a run that is stopped does not stop it.
local function is_final(id)
  return redis.call('HEXISTS', job_key(id), 'final') == 1
end

-- item: { 'cancel', run, '-', first number not yet looked at }
local function sweep_run(item)
  local run = item[2]
  local found = redis.call('HMGET', run_key(run), 'jobs', 'cancel', 'ended_at')
  if not found[1] or found[3] then return end
  visit_within_budget(item, '0-' .. int(tonumber(found[1]) - 1), function(number)
    local id = job_id(run, number)
    if not is_final(id) then stop_job(id, 'cancelled', found[2]) end
  end)
end

-- Marks the run first: from here on nothing of it is dispatched or started, however long the sweep takes.
local function cancel_run(run, why, by)
  redis.call('HSET', run_key(run), 'cancel', why)
  runs_seen[run] = nil
  event('run', run, redis.call('HGET', run_key(run), 'state'), 'cancelling', why, by)
  sweep_run({ 'cancel', run, '-', 0 })
end

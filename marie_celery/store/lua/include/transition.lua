-- @include base
-- The only place where the state of a job changes. TRANSITIONS is generated from model/states.py.
-- @generate transitions

-- Further fields of the job may change with it: …, field, value, ….
local function move(id, from, to, why, by, ...)
  if not (TRANSITIONS[from] and TRANSITIONS[from][to]) then
    error('job ' .. id .. ' cannot go from ' .. tostring(from) .. ' to ' .. tostring(to))
  end
  redis.call('HSET', job_key(id), 'state', to, 'at', NOW_TEXT, 'reason', why or '', ...)
  local run = run_of(id)
  count_job(run, from, -1)
  count_job(run, to, 1)
  event('job', id, from, to, why, by)
end

-- A worker begins a ready job in the step that dispatches it.
local function move_to_worker(id, worker, token)
  redis.call('HSET', job_key(id), 'state', 'active', 'at', NOW_TEXT, 'reason', '', 'token', token, 'worker', worker)
  local run = run_of(id)
  count_job(run, 'ready', -1)
  count_job(run, 'active', 1)
  event('job', id, 'ready', 'dispatched')
  event('job', id, 'dispatched', 'active', nil, worker)
end

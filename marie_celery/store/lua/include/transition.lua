-- @include base
-- The only place where the state of a job changes. TRANSITIONS is generated from model/states.py.
-- @generate transitions

local function check_move(id, from, to)
  if not (TRANSITIONS[from] and TRANSITIONS[from][to]) then
    error('job ' .. id .. ' cannot go from ' .. tostring(from) .. ' to ' .. tostring(to))
  end
end

local function tell_move(id, from, to, why, by)
  local run = run_of(id)
  count_job(run, from, -1)
  count_job(run, to, 1)
  event('job', id, from, to, why, by)
end

-- Further fields of the job may change with it: …, field, value, ….
local function write_state(id, state, why, ...)
  redis.call('HSET', job_key(id), 'state', state, 'at', NOW_TEXT, 'reason', why or '', ...)
end

local function move(id, from, to, why, by, ...)
  check_move(id, from, to)
  write_state(id, to, why, ...)
  tell_move(id, from, to, why, by)
end

-- A worker begins a ready job in the step that dispatches it.
local function move_to_worker(job, worker, token)
  local id = job.id
  local run = run_of(id)
  write_state(id, 'active', '', 'token', token, 'worker', worker, unpack(job.unwritten or NOTHING))
  count_job(run, 'ready', -1)
  count_job(run, 'active', 1)
  event('job', id, 'ready', 'dispatched')
  event('job', id, 'dispatched', 'active', nil, worker)
end

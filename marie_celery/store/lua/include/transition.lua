-- @include base
-- The only place where the state of a job changes. TRANSITIONS is generated from model/states.py.
-- @generate transitions

-- Further fields of the job may change with it: …, field, value, ….
local function move(id, from, to, why, by, ...)
  if not (TRANSITIONS[from] and TRANSITIONS[from][to]) then
    error('job ' .. id .. ' cannot go from ' .. tostring(from) .. ' to ' .. tostring(to))
  end
  redis.call('HSET', job_key(id), 'state', to, 'at', int(NOW), 'reason', why or '', ...)
  local run = run_key(run_of(id))
  redis.call('HINCRBY', run, from, -1)
  redis.call('HINCRBY', run, to, 1)
  event('job', id, from, to, why, by)
end

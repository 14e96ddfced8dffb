-- @include transition
-- @include place
-- Ready jobs: `ready:<executor>` has those of runs that have begun, `new:<executor>` those of runs that have not, so
-- that neither hides the other. `rerank` knows when a place will be wrong by time alone. What an operator holds back
-- goes from ready to held in the same step.
local runs_seen = {}
local function times_of(run)
  if not runs_seen[run] then
    local found = redis.call('HMGET', run_key(run), 'created_at', 'started_at', 'paused')
    runs_seen[run] = { submitted = tonumber(found[1] or 0), activated = tonumber(found[2]), paused = found[3] }
  end
  return runs_seen[run]
end

local learned = {}
local function learned_runtime(task)
  if learned[task] == nil then
    local text = redis.call('HGET', P .. 'estimates', task)
    local centre = text and string.match(text, '^%d+ (%S+)')
    learned[task] = centre and math.floor(math.exp(tonumber(centre)) + 0.5) or false
  end
  return learned[task] or nil
end

local held_tasks
local function is_held_task(task)
  if not held_tasks then
    held_tasks = {}
    for _, name in ipairs(redis.call('SMEMBERS', P .. 'held-tasks')) do held_tasks[name] = true end
  end
  return held_tasks[task]
end

-- What decides the place of a job, as rank() wants it; the executor beside it.
local function facts_of(id)
  local found = redis.call('HMGET', job_key(id), 'executor', 'level', 'priority', 'soft', 'hard', 'estimate', 'path',
    'at', 'task', 'hold')
  local times = times_of(run_of(id))
  return {
    level = tonumber(found[2]),
    priority = tonumber(found[3]),
    soft = tonumber(found[4]),
    hard = tonumber(found[5]),
    runtime = tonumber(found[6]) or learned_runtime(found[9]),
    path = tonumber(found[7]),
    ready = tonumber(found[8]),
    submitted = times.submitted,
    activated = times.activated,
    held = (found[10] and 'held') or (times.paused and 'run_paused') or (is_held_task(found[9]) and 'task_held'),
  }, found[1]
end

local function leave_ready(id, executor)
  redis.call('ZREM', P .. 'rerank', id)
  for _, name in ipairs({ 'ready:', 'new:', 'stale:ready:', 'stale:new:' }) do
    if redis.call('ZREM', P .. name .. executor, id) == 1 then return end
  end
end

local function put_in_place(id)
  local job, executor = facts_of(id)
  if job.held then
    move(id, 'ready', 'held', job.held)
    redis.call('ZADD', P .. 'held', int(NOW), id)
    redis.call('ZREM', P .. 'rerank', id)
    return job, executor
  end
  local score, change = rank(job)
  redis.call('ZADD', P .. (job.activated and 'ready:' or 'new:') .. executor, int(score), id)
  if change then
    redis.call('ZADD', P .. 'rerank', int(change), id)
  else
    redis.call('ZREM', P .. 'rerank', id)
  end
  return job, executor
end

local function make_ready(id, from, why)
  move(id, from, 'ready', why)
  put_in_place(id)
  wake()
end

-- A ready job whose facts have changed.
local function rank_again(id)
  local executor = redis.call('HGET', job_key(id), 'executor')
  leave_ready(id, executor)
  return put_in_place(id)
end

-- @include base
-- What decides about all jobs of a run. Whoever changes one of these takes the run out of here.
local runs_seen = {} -- @fresh
local function facts_of_run(run)
  local seen = runs_seen[run]
  if not seen then
    local found = redis.call('HMGET', run_key(run), 'created_at', 'started_at', 'paused', 'highlander', 'state', 'cancel',
      'ended_at', 'dag')
    seen = {
      submitted = tonumber(found[1] or 0),
      activated = tonumber(found[2]),
      paused = found[3],
      highlander = found[4],
      state = found[5],
      cancel = found[6],
      ended = found[7],
      dag = found[8],
    }
    runs_seen[run] = seen
  end
  return seen
end

local learned = {} -- @fresh
local function runtime_of(centre) return math.floor(math.exp(centre) + 0.5) end

local function learned_runtime(task)
  if learned[task] == nil then
    local text = redis.call('HGET', P .. 'estimates', task)
    local centre = text and string.match(text, '^%d+ (%S+)')
    learned[task] = centre and runtime_of(tonumber(centre)) or false
  end
  return learned[task] or nil
end

local held_tasks -- @fresh
local function is_held_task(task)
  if not task then return nil end
  if not held_tasks then
    held_tasks = {}
    for _, name in ipairs(redis.call('SMEMBERS', P .. 'held-tasks')) do held_tasks[name] = true end
  end
  return held_tasks[task]
end

local NEEDS_NOTHING = {}
local facts_of, brief_facts_of, in_full
do
  local function held_by(hold, of_run, task)
    return (hold and 'held') or (of_run.paused and 'run_paused') or (is_held_task(task) and 'task_held')
  end

  -- A job as it stands in Redis, with what decides its place as rank() wants it; the executor beside it. One read of all
  -- is cheaper than several of some, also of what is not there; a table that has its size from the start is cheaper than
  -- one that grows.
  function facts_of(id)
    local found = redis.call('HGETALL', job_key(id))
    local job = {
      id = id, state = false, task = false, name = false, executor = false, priority = false, spec = false, level = false,
      at = false, reason = false, token = false, children = false, parents = false, deps = false, refs = false,
      soft = false, hard = false, path = false, stood = false, ready = false, runtime = false, submitted = false,
      activated = false, needs = false, highlander = false, held = false,
    }
    for i = 1, #found, 2 do job[found[i]] = found[i + 1] end
    local of_run = facts_of_run(run_of(id))
    job.level = tonumber(job.level)
    job.priority = tonumber(job.priority)
    job.soft = tonumber(job.soft)
    job.hard = tonumber(job.hard)
    job.path = tonumber(job.path)
    job.stood = tonumber(job.stood)
    job.ready = tonumber(job.at)
    job.runtime = tonumber(job.estimate) or (job.task and learned_runtime(job.task))
    job.submitted = of_run.submitted
    job.activated = of_run.activated
    job.needs = job.needs and cjson.decode(job.needs) or NEEDS_NOTHING
    job.highlander = not of_run.activated and of_run.highlander
    job.held = held_by(job.hold, of_run, job.task)
    return job, job.executor
  end

  -- Of a job that has nothing special, all but its place; of others nil.
  function brief_facts_of(id)
    local found = redis.call('HMGET', job_key(id), 'state', 'executor', 'task', 'name', 'token', 'refs', 'hold', 'plain')
    if not found[8] then return nil end
    local of_run = facts_of_run(run_of(id))
    return {
      id = id, state = found[1], executor = found[2], task = found[3], name = found[4], token = found[5], refs = found[6],
      needs = NEEDS_NOTHING, activated = of_run.activated, held = held_by(found[7], of_run, found[3]), is_brief = true,
      deps = false, unwritten = false, ready = false, why = false,
    }
  end

  function in_full(job)
    if not job.is_brief then return job end
    local full = facts_of(job.id)
    full.state, full.ready, full.deps, full.unwritten = job.state, job.ready, job.deps, job.unwritten
    return full
  end
end

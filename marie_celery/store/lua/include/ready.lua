-- @include transition
-- @include place
-- @include resources
-- @include tenants
-- Ready jobs: `ready:<executor>` has those of runs that have begun, `new:<executor>` those of runs that have not, so
-- that neither hides the other. What is short of a resource stands in `short:<line>` instead, where it hides nobody who
-- needs none of it; `parked:<executor>` has all of these, for those who count. `rerank` knows when a place will be wrong
-- by time alone. What an operator holds back goes from ready to held in the same step.

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
local function learned_runtime(task)
  if learned[task] == nil then
    local text = redis.call('HGET', P .. 'estimates', task)
    local centre = text and string.match(text, '^%d+ (%S+)')
    learned[task] = centre and math.floor(math.exp(tonumber(centre)) + 0.5) or false
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

-- A job as it stands in Redis, with what decides its place as rank() wants it; the executor beside it. One read of all
-- is cheaper than several of some, also of what is not there; a table that has its size from the start is cheaper than
-- one that grows.
local NEEDS_NOTHING = {}
local function facts_of(id)
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
  job.held = (job.hold and 'held') or (of_run.paused and 'run_paused') or (is_held_task(job.task) and 'task_held')
  return job, job.executor
end

-- What stands in the way of a ready job beside a slot.
local NO_OBSTACLES = {}
local function obstacles(id, executor, job, score, promised)
  if job.needs == NEEDS_NOTHING and not job.highlander then return NO_OBSTACLES end
  local found = refusals(id, executor, job.needs, score, promised)
  if job.highlander then
    local running = redis.call('HGET', P .. 'highlander:' .. job.highlander, 'running')
    if running and running ~= run_of(id) then found[#found + 1] = { '@' .. job.highlander, 'exhausted' } end
  end
  return found
end

-- Also without a release somebody looks at a line once in a while.
local LOOK_AGAIN_MS = 5000

-- From when on somebody could have had more of a rate.
local function note_due(name, moment)
  local before = tonumber(redis.call('HGET', resource_key(name), 'due') or 0)
  if before > NOW then moment = math.min(before, moment) end
  fill_bucket(name, bucket_of(name), 0)
  redis.call('HSET', resource_key(name), 'due', int(moment))
end

local function lines_of(refused)
  local lines = {}
  for i, refusal in ipairs(refused) do lines[i] = refusal[1] end
  return cjson.encode(lines)
end

-- Planners that do not park look at what is short in every poll. What waits for a grant stands aside all the same.
local function worth_a_line(refused)
  if refused == NO_OBSTACLES or planner().parks == 1 then return refused end
  local own = {}
  for _, refusal in ipairs(refused) do
    if kind_of(refusal[1]) == 'own' then own[#own + 1] = refusal end
  end
  return own
end

local function parked_key(executor) return P .. 'parked:' .. executor end

local has_parked = false -- @fresh
local function park(id, executor, score, refused)
  for _, refusal in ipairs(refused) do
    local line, moment = refusal[1], refusal[3]
    redis.call('ZADD', short_key(line), int(score), id)
    -- A manager of the user's own is to be asked at once.
    local look = kind_of(line) == 'own' and NOW or math.max(NOW + 1, moment or NOW + LOOK_AGAIN_MS)
    redis.call('ZADD', P .. 'supply', 'LT', int(look), line)
    if moment then note_due(line, moment) end
  end
  redis.call('HSET', job_key(id), 'short', lines_of(refused), 'stood', int(score))
  redis.call('ZADD', parked_key(executor), int(score), id)
  has_parked = true
end

-- Whoever stood behind it in a line may be first now.
local function leave_lines(id)
  local found = redis.call('HMGET', job_key(id), 'short', 'executor')
  if not found[1] then return end
  redis.call('HDEL', job_key(id), 'short')
  redis.call('ZREM', parked_key(found[2]), id)
  for _, line in ipairs(cjson.decode(found[1])) do
    redis.call('ZREM', short_key(line), id)
    if redis.call('EXISTS', short_key(line)) == 1 then
      redis.call('ZADD', P .. 'supply', 'LT', int(NOW), line)
      wake()
    end
  end
end

-- Jobs that this call has given a place, with the facts that gave it to them.
local placed = {} -- @fresh

-- A job that is ready now may be gone before the call is over. Where a script says so (a table here, not nil), the first few
-- are kept at hand and are given their place when it is known that they stay: put_down().
local at_hand -- @fresh
local AT_HAND = 4

local function put_down()
  local jobs = at_hand or NEEDS_NOTHING
  at_hand = nil
  for _, job in ipairs(jobs) do
    redis.call('ZADD', ready_key(job.executor), int(job.score), job.id)
    if job.change then redis.call('ZADD', P .. 'rerank', int(job.change), job.id) end
  end
end

local function was_at_hand(id)
  for i, job in ipairs(at_hand or NEEDS_NOTHING) do
    if job.id == id then
      table.remove(at_hand, i)
      return true
    end
  end
  return false
end

local PLACES_OF_READY = { 'ready:', 'new:', 'stale:ready:', 'stale:new:' }
local function leave_ready(id, executor, tenant)
  placed[id] = nil
  if was_at_hand(id) then return end
  redis.call('ZREM', P .. 'rerank', id)
  local lane = lane_of(executor, tenant)
  for _, name in ipairs(PLACES_OF_READY) do
    if redis.call('ZREM', P .. name .. lane, id) == 1 then
      off_offer(executor, tenant)
      return
    end
  end
  leave_lines(id)
end

-- In the lines a job keeps the rank with which it came, until it is ranked again for a reason: what is learned of
-- runtimes meanwhile would let those who wait pass each other in turn, and nobody go.
local function line_rank(job, score)
  return math.min(score, job.stood or score)
end

-- job: its facts, if the caller has them. is_new_there: nobody has said when to look at it again.
local function put_in_place(id, job, is_new_there)
  job = job or facts_of(id)
  local executor = job.executor
  if job.held then
    if planner().parks == 0 then redis.call('HSET', job_key(id), 'since', int(job.ready)) end
    move(id, 'ready', 'held', job.held)
    redis.call('ZADD', P .. 'held', NOW_TEXT, id)
    redis.call('ZREM', P .. 'rerank', id)
    return job, executor
  end
  local score, change = rank(job)
  local standing = line_rank(job, score)
  local refused = worth_a_line(obstacles(id, executor, job, standing))
  if #refused > 0 then
    park(id, executor, standing, refused)
  elseif at_hand and is_new_there and job.activated and not job.tenant and #at_hand < AT_HAND
    and not is_shared(executor) then
    job.score, job.change = score, change
    at_hand[#at_hand + 1] = job
    placed[id] = job
    return job, executor
  else
    redis.call('ZADD', P .. (job.activated and 'ready:' or 'new:') .. lane_of(executor, job.tenant), int(score), id)
    on_offer(executor, job.tenant)
    placed[id] = job
  end
  if change then
    redis.call('ZADD', P .. 'rerank', int(change), id)
  elseif not is_new_there then
    redis.call('ZREM', P .. 'rerank', id)
  end
  return job, executor
end

local function make_ready(id, from, why, job)
  move(id, from, 'ready', why)
  job = job or facts_of(id)
  job.state, job.ready = 'ready', NOW
  put_in_place(id, job, true)
  wake(job.executor)
end

-- A ready job whose facts have changed.
local function rank_again(id)
  local found = redis.call('HMGET', job_key(id), 'executor', 'tenant', 'stood')
  leave_ready(id, found[1], found[2])
  if found[3] then redis.call('HDEL', job_key(id), 'stood') end
  return put_in_place(id)
end

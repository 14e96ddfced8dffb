-- @include settle
-- Books a slot and the resources of a ready job, all or nothing. Everything that must hold is checked here, in the step that changes it.
-- @generate codes

local overall = math.huge -- @fresh
local function limit_all(limit)
  if limit <= 0 then return end
  overall = limit
  for _, executor in ipairs(redis.call('SMEMBERS', P .. 'executors')) do
    overall = overall - redis.call('ZCARD', slots_key(executor))
  end
end

local room = {} -- @fresh
local function room_left(executor)
  if not room[executor] then room[executor] = room_of(executor) end
  return math.min(room[executor], overall)
end

local function may_begin()
  local most_active = planner().max_active_dags
  return most_active <= 0 or redis.call('ZCARD', P .. 'active') < most_active
end

-- While jobs of active and of new runs wait, every choice adds the share to the executor's credit, and a choice for a
-- new run costs a full one. What may not begin is not waiting. Mirrors planning/share.py.
local function account(executor, tenant, is_new)
  local lane = lane_of(executor, tenant)
  if planner().share < 0 or not may_begin() then return end
  local active_wait = redis.call('ZCARD', ready_key(lane)) + (is_new and 0 or 1)
  local new_wait = redis.call('ZCARD', new_key(lane)) + (is_new and 1 or 0)
  if active_wait == 0 or new_wait == 0 then return end
  redis.call('HINCRBY', executor_key(executor), credit_of(tenant), int(planner().share - (is_new and 1000 or 0)))
end

local function activate(run)
  local key = run_key(run)
  redis.call('HSET', key, 'state', 'active', 'started_at', int(NOW))
  redis.call('ZADD', P .. 'active', int(NOW), run)
  runs_seen[run] = nil
  event('run', run, 'created', 'active')
  local found = redis.call('HMGET', key, 'left', 'jobs', 'highlander')
  if found[3] then take_the_field(found[3], run) end
  settling[#settling + 1] = { 'greet', run, found[1] == found[2] and 'roots' or 'jobs', 0 }
end

local REFUSED = { short = SHORT, exhausted = EXHAUSTED }

-- Takes what the job needs, or sends it to the lines of what it is short of. Planners that do not park look at it again
-- in their next poll.
local function book_resources(id, attempt, executor, job)
  local score = line_rank(job, (rank(job)))
  local refused = obstacles(id, executor, job, score)
  if #refused == 0 then
    if #job.needs > 0 then take_all(id, attempt, job.needs, score) end
    return OK
  end
  local aside = worth_a_line(refused)
  if #aside > 0 and redis.call('HGET', job_key(id), 'short') ~= lines_of(aside) then rank_again(id) end
  return REFUSED[refused[1][2]]
end

-- Returns code, token.
local function book(id, lease)
  local job = redis.call('HMGET', job_key(id), 'state', 'executor', 'task', 'needs', 'token', 'tenant',
    'estimate', 'final')
  local run = run_of(id)
  local of_run = redis.call('HMGET', run_key(run), 'cancel', 'state', 'paused', 'highlander')
  if job[1] ~= 'ready' or (of_run[1] and not job[8]) or of_run[3] or is_held_task(job[3]) then return NOT_READY, 0 end
  if room_left(job[2]) <= 0 then return FULL, 0 end
  local is_new = of_run[2] == 'created'
  if is_new and not may_begin() then return DAG_LIMIT, 0 end

  local token = tonumber(job[5] or 0) + 1
  if job[4] or (is_new and of_run[4]) then
    local code = book_resources(id, attempt_id(id, int(token)), job[2], facts_of(id))
    if code ~= OK then return code, 0 end
  end

  if job[4] or token > 1 then redis.call('HDEL', job_key(id), 'worker', 'stood') end
  charge(job[2], job[6], attempt_id(id, int(token)), tonumber(job[7]) or learned_runtime(job[3]))
  leave_ready(id, job[2], job[6])
  account(job[2], job[6], is_new)
  redis.call('ZADD', slots_key(job[2]), lease, attempt_id(id, token))
  room[job[2]] = room[job[2]] - 1
  overall = overall - 1
  move(id, 'ready', 'dispatched', nil, nil, 'token', int(token))
  if is_new then activate(run) end
  return OK, token
end

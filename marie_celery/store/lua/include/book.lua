-- @include settle
-- Books a slot and the resources of a ready job, all or nothing. Everything that must hold is checked here, in the step that changes it.
-- @generate codes

local overall = math.huge -- @fresh
local room = {} -- @fresh
local limit_all, room_left, may_begin, may_all_begin
do
  local function own_room(executor)
    if not room[executor] then room[executor] = room_of(executor) end
    return room[executor]
  end

  -- A limit that leaves room for all free slots together is none now.
  function limit_all(limit)
    if limit <= 0 then return end
    local free = 0
    for _, executor in ipairs(redis.call('SMEMBERS', P .. 'executors')) do
      limit = limit - redis.call('ZCARD', slots_key(executor))
      free = free + math.max(0, own_room(executor))
    end
    if limit < free then overall = limit end
  end

  function room_left(executor) return math.min(own_room(executor), overall) end

  function may_begin()
    local most_active = planner().max_active_dags
    return most_active <= 0 or redis.call('ZCARD', P .. 'active') < most_active
  end

  -- All runs that have not begun could begin now.
  function may_all_begin()
    local most_active = planner().max_active_dags
    return most_active <= 0 or redis.call('ZCARD', P .. 'runs') - redis.call('ZCARD', P .. 'ended') <= most_active
  end
end

local book
do
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

  -- job: its facts. hand_over(job, token) moves it on. is_contested: do jobs of active and of new runs wait here? nil if the caller
  -- does not know. Returns code, token.
  function book(job, lease, hand_over, is_contested)
    local id, executor = job.id, job.executor
    local run = run_of(id)
    local of_run = facts_of_run(run)
    local is_stopped = (of_run.cancel and not job.final) or of_run.paused or is_held_task(job.task)
    if job.state ~= 'ready' or is_stopped then return NOT_READY, '0' end
    if room_left(executor) <= 0 then return FULL, '0' end
    local is_new = of_run.state == 'created'
    if is_new and not may_begin() then return DAG_LIMIT, '0' end

    local token = int(tonumber(job.token or 0) + 1)
    local attempt = attempt_id(id, token)
    local needs_some = job.needs ~= NEEDS_NOTHING
    if needs_some or (is_new and of_run.highlander) then
      local code = book_resources(id, attempt, executor, job)
      if code ~= OK then return code, '0' end
    end

    if needs_some or token ~= '1' then redis.call('HDEL', job_key(id), 'worker', 'stood') end
    charge(executor, job.tenant, attempt, job.runtime)
    leave_ready(id, executor, job.tenant)
    if is_contested ~= false then account(executor, job.tenant, is_new) end
    redis.call('ZADD', slots_key(executor), lease, attempt)
    room[executor] = room[executor] - 1
    overall = overall - 1
    hand_over(job, token)
    if is_new then activate(run) end
    return OK, token
  end
end

-- A message takes it to a worker.
local function dispatched(job, token)
  move(job.id, 'ready', 'dispatched', nil, nil, 'token', token, unpack(job.unwritten or NOTHING))
end

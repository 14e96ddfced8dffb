-- @include transition
-- @include ranges
-- @include join
-- @include rank
-- What follows from the end of a job: its children are counted down and become ready or skipped, these ends
-- spread on, and a run whose jobs have all ended ends too. Works off a queue within BUDGET; what is left goes to
-- the list `advance`, durable in the same atomic step.
local settling = {}

local function make_ready(id, from, why)
  local job = redis.call('HMGET', job_key(id), 'executor', 'level', 'priority', 'soft', 'hard', 'estimate')
  move(id, from, 'ready', why)
  redis.call('ZADD', ready_key(job[1]), int(rank(job[2], job[3], job[4], job[5], job[6])), id)
  wake()
end

local function end_run(run, key)
  local found = redis.call('HMGET', key, 'cancel', 'failed', 'expired', 'cancelled', 'state')
  local outcome = 'completed'
  if found[1] and found[1] ~= 'fail_fast' then outcome = 'cancelled'
  elseif tonumber(found[2] or 0) > 0 then outcome = 'failed'
  elseif tonumber(found[3] or 0) > 0 then outcome = 'expired'
  elseif tonumber(found[4] or 0) > 0 then outcome = 'cancelled' end
  redis.call('HSET', key, 'state', outcome, 'ended_at', int(NOW))
  redis.call('RPUSH', key .. ':done', outcome)
  event('run', run, found[5], outcome, found[1] or '')
end

-- how: completed, skipped or failed, as the children see it. Nothing spreads in a run that is being cancelled.
local function end_job(id, from, to, why, by)
  move(id, from, to, why, by)
  local run = run_of(id)
  local key = run_key(run)
  if redis.call('HINCRBY', key, 'left', -1) == 0 then
    end_run(run, key)
    return
  end
  local how = to
  if to ~= 'completed' and (to ~= 'skipped' or why == 'upstream_failed') then how = 'failed' end
  settling[#settling + 1] = { 'spread', id, how, 0 }
end

local function parent_ended(id, how)
  local key = job_key(id)
  local left = redis.call('HINCRBY', key, 'deps', -1)
  if how ~= 'completed' then
    redis.call('HINCRBY', key, how .. '_parents', 1)
  end
  local job = redis.call('HMGET', key, 'state', 'rule', 'parents', 'skipped_parents', 'failed_parents')
  if job[1] ~= 'created' then return end
  local verdict = join_verdict(job[2] or 'all_success', tonumber(job[3]), left,
    tonumber(job[4] or 0), tonumber(job[5] or 0))
  if verdict == 'run' then
    make_ready(id, 'created')
  elseif verdict == 'skip' then
    end_job(id, 'created', 'skipped', 'all_parents_skipped')
  elseif verdict == 'upstream_failed' then
    end_job(id, 'created', 'skipped', 'upstream_failed')
  end
end

-- Visits the numbers in text from position; true when all were visited, else the rest is noted for later.
local function visit_within_budget(item, text, visit)
  local rest = each_number(text, item[4], function(number)
    if spent >= BUDGET then return false end
    spent = spent + 1
    visit(number)
    return true
  end)
  if rest then
    redis.call('RPUSH', P .. 'advance', table.concat({ item[1], item[2], item[3], int(rest) }, ' '))
    wake()
  end
end

local function spread(item)
  local run = run_of(item[2])
  local state = redis.call('HMGET', run_key(run), 'ended_at', 'cancel')
  if state[1] or state[2] then return end
  local children = redis.call('HGET', job_key(item[2]), 'children')
  if not children then return end
  visit_within_budget(item, children, function(number)
    parent_ended(job_id(run, number), item[3])
  end)
end

local function release_roots(item)
  local roots = redis.call('HMGET', run_key(item[2]), 'roots', 'cancel')
  if not roots[1] or roots[2] then return end
  visit_within_budget(item, roots[1], function(number)
    local id = job_id(item[2], number)
    -- It may have been cancelled while it waited for its release.
    if redis.call('HGET', job_key(id), 'state') == 'created' then make_ready(id, 'created') end
  end)
end

local function settle()
  local next = 1
  while settling[next] do
    local item = settling[next]
    if item[1] == 'roots' then release_roots(item) else spread(item) end
    next = next + 1
  end
end

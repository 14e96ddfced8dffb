-- @include supply
-- @include highlander
-- @include ranges
-- @include join
-- What follows from the end of a job: its children are counted down and become ready or skipped, these ends
-- spread on, and a run whose jobs have all ended ends too. Works off a queue within BUDGET; what is left goes to
-- the list `advance`, durable in the same atomic step.
local settling = {}

local function end_run(run, key)
  local found = redis.call('HMGET', key, 'cancel', 'failed', 'expired', 'cancelled', 'state')
  local outcome = 'completed'
  if found[1] and found[1] ~= 'fail_fast' then outcome = 'cancelled'
  elseif tonumber(found[2] or 0) > 0 then outcome = 'failed'
  elseif tonumber(found[3] or 0) > 0 then outcome = 'expired'
  elseif tonumber(found[4] or 0) > 0 then outcome = 'cancelled' end
  redis.call('HSET', key, 'state', outcome, 'ended_at', int(NOW))
  redis.call('RPUSH', key .. ':done', outcome)
  redis.call('ZREM', P .. 'active', run)
  redis.call('ZADD', P .. 'ended', int(NOW), run)
  leave_the_field(run)
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

-- Its parents let it go. A control job has nothing to run: it is done the moment it is ready.
local function release(id, control)
  if control then
    move(id, 'created', 'ready')
    end_job(id, 'ready', 'completed', control)
  else
    make_ready(id, 'created')
  end
end

local function parent_ended(id, how)
  local key = job_key(id)
  local left = redis.call('HINCRBY', key, 'deps', -1)
  if how ~= 'completed' then
    redis.call('HINCRBY', key, how .. '_parents', 1)
  end
  local job = redis.call('HMGET', key, 'state', 'rule', 'parents', 'skipped_parents', 'failed_parents', 'control')
  if job[1] ~= 'created' then return end
  local verdict = join_verdict(job[2] or 'all_success', tonumber(job[3]), left,
    tonumber(job[4] or 0), tonumber(job[5] or 0))
  if verdict == 'run' then
    release(id, job[6])
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
    -- What expires must all have expired before the ends of some spread to others.
    local push = item[1] == 'missed' and 'LPUSH' or 'RPUSH'
    redis.call(push, P .. 'advance', piece(item[1], item[2], item[3], rest))
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
    local job = redis.call('HMGET', job_key(id), 'state', 'control')
    if job[1] == 'created' then release(id, job[2]) end
  end)
end

-- A run has begun: its other ready jobs move over to those of runs that have. They are its roots, unless jobs had ended
-- before (control jobs, cancelled ones) and let others go: then any of its jobs may be among them.
local function greet(item)
  local found = redis.call('HMGET', run_key(item[2]), 'roots', 'jobs')
  if not found[1] then return end
  local candidates = item[3] == 'roots' and found[1] or '0-' .. int(tonumber(found[2]) - 1)
  visit_within_budget(item, candidates, function(number)
    local id = job_id(item[2], number)
    if redis.call('HGET', job_key(id), 'state') == 'ready' then rank_again(id) end
  end)
end

local SETTLE = { spread = spread, roots = release_roots, greet = greet }

local settled = 0
local function settle()
  while settling[settled + 1] do
    settled = settled + 1
    local item = settling[settled]
    SETTLE[item[1]](item)
  end
end

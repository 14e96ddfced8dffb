-- @include release
-- What follows from the end of a job: its children are counted down and become ready or skipped, these ends
-- spread on, and a run whose jobs have all ended ends too. Works off a queue within BUDGET; what is left goes to
-- the list `advance`, durable in the same atomic step.

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

-- Of jobs that the caller has read already: children, map, paths, behind.
local families = {} -- @fresh

local SETTLE
do
  local function is_over(run)
    local seen = facts_of_run(run)
    return seen.ended or seen.cancel
  end

  -- Jobs on the paths of a branch, or behind a gate, are let go or skipped.
  local function open_paths(id, how)
    local job = redis.call('HMGET', job_key(id), 'paths', 'taken', 'reason')
    if not job[1] then return end
    local verb = how == 'completed' and (job[2] and 'branch_not_taken' or 'open')
      or how == 'failed' and 'upstream_failed'
      or job[3] == 'branch_not_taken' and job[3] or 'all_parents_skipped'
    local verbs = {}
    for place in ipairs(cjson.decode(job[1])) do verbs[place] = verb end
    if how == 'completed' then
      for place in string.gmatch(job[2] or '', '%d+') do verbs[tonumber(place)] = 'open' end
    end
    for place, each in ipairs(verbs) do settling[#settling + 1] = { 'path', id, int(place) .. ':' .. each, 0 } end
  end

  -- What hangs on a branch within the path waits for that one.
  local function walk_path(item)
    local run = run_of(item[2])
    if is_over(run) then return end
    local place, verb = string.match(item[3], '^(%d+):(.+)$')
    local gate = number_of(item[2])
    local path = cjson.decode(redis.call('HGET', job_key(item[2]), 'paths'))[tonumber(place)]
    visit_within_budget(item, path[2], function(number)
      local id = job_id(run, number)
      local job = redis.call('HMGET', job_key(id), 'state', 'gate')
      if verb ~= 'open' then
        if job[1] == 'created' then end_job(id, 'created', 'skipped', verb) end
      elseif job[2] == gate then
        redis.call('HDEL', job_key(id), 'shut')
        consider(id)
      end
    end)
  end

  local function spread(item)
    local run = run_of(item[2])
    if is_over(run) then return end
    local job = families[item[2]] or redis.call('HMGET', job_key(item[2]), 'children', 'map', 'paths', 'behind')
    if job[2] then
      item_ended(job_id(run, job[2]), item[3])
      return
    end
    if job[3] and item[4] == 0 then open_paths(item[2], item[3]) end
    if not job[1] then return end
    local parent, only = tonumber(number_of(item[2])), tonumber(job[1])
    if only and spent < BUDGET then
      spent = spent + 1
      parent_ended(job_id(run, only), item[3], parent, job[4])
      return
    end
    visit_within_budget(item, job[1], function(number)
      parent_ended(job_id(run, number), item[3], parent, job[4])
    end)
  end

  local function release_roots(item)
    local roots = redis.call('HMGET', run_key(item[2]), 'roots', 'cancel')
    if not roots[1] or roots[2] then return end
    visit_within_budget(item, roots[1], function(number)
      local id = job_id(item[2], number)
      -- It may have been cancelled while it waited for its release.
      local job = facts_of(id)
      if job.state == 'created' then release(id, job) end
    end)
  end

  -- A run has begun: its other ready jobs move over to those of runs that have. They are its roots, unless jobs ended
  -- before (control jobs, cancelled ones) and let others go, or a map made more: then it may be any of its jobs.
  local function greet(item)
    local found = redis.call('HMGET', run_key(item[2]), 'roots', 'jobs', 'grown')
    if not found[1] then return end
    local candidates = item[3] == 'roots' and not found[3] and found[1] or '0-' .. int(tonumber(found[2]) - 1)
    visit_within_budget(item, candidates, function(number)
      local id = job_id(item[2], number)
      if redis.call('HGET', job_key(id), 'state') == 'ready' then rank_again(id) end
    end)
  end

  SETTLE = { spread = spread, path = walk_path, roots = release_roots, greet = greet }
end

local settled = 0 -- @fresh
local function settle()
  while settling[settled + 1] do
    settled = settled + 1
    local item = settling[settled]
    SETTLE[item[1]](item)
  end
end

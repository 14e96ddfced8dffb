-- @include book
-- @include overdue
-- Whose turn it is at an executor, where ranks decide: the choice that a scheduler would make at this moment. Where it
-- takes more than ranks (tours, a planner of somebody's own, ranks that are being made anew) it is left to one; so it is
-- where executors take from each other (a limit over all of them, a limit of active runs): one sees all of them.
local quiet = {} -- @fresh
local is_ranked -- @fresh
local is_quiet, best_of, facts_to_book, ranks_decide
do
  local RERANKS = 100

  -- One look for what is seldom there: tenants, tasks on hold, ranks that are being made anew.
  function is_quiet(executor)
    if quiet[executor] == nil then
      quiet[executor] = redis.call('EXISTS', shares_key(executor), P .. 'held-tasks', P .. 'stale:ready:' .. executor,
        P .. 'stale:new:' .. executor) == 0
      if quiet[executor] then
        shared[executor] = false
        held_tasks = held_tasks or {}
      end
    end
    return quiet[executor] and not shared[executor]
  end

  local function lane_in_turn(executor)
    local tenant = is_shared(executor) and redis.call('ZRANGE', tenants_key(executor), 0, 0)[1]
    return tenant and tenant ~= NOBODY and tenant or nil
  end

  local function first_of(key)
    if not firsts[key] then firsts[key] = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES') end
    return firsts[key]
  end

  -- One that has not been put down yet, if it is better than the first of the line.
  local function best_at_hand(executor, first)
    local best, score, best_job = first[1], tonumber(first[2]), nil
    for _, job in ipairs(at_hand) do
      if job.executor == executor then
        if best then
          score = score or score_of(best_job)
          if score_of(job) < score or (score_of(job) == score and job.id < best) then
            best, score = job.id, score_of(job)
          end
        else
          best, best_job = job.id, job
        end
      end
    end
    return best
  end

  -- Mirrors planning/share.py.
  local function is_turn_of_new(executor, tenant, active, new)
    if planner().share >= 0 then
      local credit = tonumber(redis.call('HGET', executor_key(executor), credit_of(tenant)) or 0)
      return credit + planner().share >= 1000
    end
    local a, b = tonumber(active[2]), tonumber(new[2])
    return not (a < b or (a == b and active[1] < new[1]))
  end

  -- Returns the job, and whether jobs of active and of new runs wait for this choice; or nil,
  -- and whether there are some to choose from by other means.
  function best_of(executor)
    local tenant = not is_quiet(executor) and lane_in_turn(executor) or nil
    local lane = lane_of(executor, tenant)
    if not quiet[executor] and redis.call('EXISTS', P .. 'stale:ready:' .. lane, P .. 'stale:new:' .. lane) > 0 then
      return nil, true
    end
    local active, new = first_of(ready_key(lane)), first_of(new_key(lane))
    if at_hand and at_hand[1] then
      if not new[1] and not tenant then return best_at_hand(executor, active), false end
      put_down()
      return best_of(executor)
    end
    if new[1] and not may_begin() then return active[1], not active[1] end
    if not new[1] then return active[1], false end
    if active[1] and not is_turn_of_new(executor, tenant, active, new) then return active[1], true end
    if not may_all_begin() then return nil, true end
    return new[1], active[1] ~= nil
  end

  -- Of the job that is chosen. What a tenant's share or a run that has not begun asks for beside is not there in brief.
  function facts_to_book(id, executor)
    if placed[id] then return placed[id] end
    return facts_of_run(run_of(id)).activated and is_quiet(executor) and brief_facts_of(id) or facts_of(id)
  end

  -- Ranks decide, and they are right.
  function ranks_decide()
    if is_ranked == nil then
      is_ranked = overall == math.huge and planner().relays == 1 and rank_overdue(RERANKS) < RERANKS
    end
    return is_ranked
  end
end

-- @include rank
local ranked_last -- @fresh
local rank
do
  -- The sort keys: each gives a job's number, smaller first, and when time alone will change it.
  local PLACES = {
    new_dag = function(job)
      return job.activated and 0 or 1
    end,
    level = function(job, by)
      local last = 2 ^ BITS.level - 1
      if by.level_mode == 'critical_path' then
        local path = job.path or job.runtime
        return last - (path and math.min(last, log_step(path + 1, 1, 2048)) or last)
      end
      return last - math.min(last, job.level)
    end,
    priority = function(job, by)
      local user = effective_priority(job.priority, NOW - job.ready, by.starvation_ms)
      return 1999999 - COMBINE[by.priority_mode](sla_score(job.soft, job.hard), user),
        earliest(sla_next_change(job.soft, job.hard), ageing_next_change(job.priority, job.ready, by.starvation_ms))
    end,
    user_priority = function(job)
      return 999 - job.priority
    end,
    estimated_runtime = function(job)
      return job.runtime and math.min(4094, log_step(job.runtime + 1, 1, 128)) or 4095
    end,
    response_ratio = function(job)
      if not job.runtime then return 4095 end
      local runtime = math.max(1, job.runtime)
      local wait = math.floor(math.max(0, NOW - job.ready) / 1000) * 1000
      local step = math.min(4095, log_step(wait + runtime, runtime, 8))
      if step >= 4095 then return 0 end
      local base = runtime * 2 ^ math.floor((step + 1) / 8)
      local needed = base + math.ceil(base * ((step + 1) % 8) / 8) - runtime
      return 4095 - step, job.ready + math.ceil(needed / 1000) * 1000
    end,
    latest_start = function(job, by)
      local path = job.path or job.runtime or 0
      local impatience = math.min(100, job.priority)
      local latest = job.submitted + math.floor(by.patience_ms * (100 - impatience) / 100) - path
      local change
      local function consider(due)
        if due and NOW <= due - path and due - path < latest then
          latest = due - path
          change = latest + 1
        end
      end
      consider(job.soft)
      consider(job.hard)
      return math.min(2 ^ BITS.latest_start - 1, math.max(0, latest - job.priority * 100)), change
    end,
    burst = function(job, by)
      local ends = job.activated and job.activated + by.burst_ms
      if ends and NOW < ends then return 0, ends end
      return 1
    end,
  }

  -- Jobs that become ready together are often alike: who has the same facts as the one before has the same place.
  function rank(job)
    local last = ranked_last
    if last and job.level == last.level and job.priority == last.priority and job.ready == last.ready
      and job.runtime == last.runtime and job.path == last.path and job.soft == last.soft and job.hard == last.hard
      and job.submitted == last.submitted and job.activated == last.activated then
      return last.score, last.change
    end
    local by = planner()
    local score, change = 0, nil
    for _, key in ipairs(by.keys) do
      local value, moment = PLACES[key](job, by)
      score = score * 2 ^ BITS[key] + value
      change = earliest(change, moment)
    end
    ranked_last = {
      level = job.level, priority = job.priority, ready = job.ready, runtime = job.runtime, path = job.path,
      soft = job.soft, hard = job.hard, submitted = job.submitted, activated = job.activated,
      score = score, change = change,
    }
    return score, change
  end
end

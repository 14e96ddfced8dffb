-- @include base
-- A ready job's place in the sorted set of its executor: lower is sooner, equal ranks go by id, which is the order
-- of submission. The global layout of planning/ranking.py: new_dag (1 bit), level (17), priority (21),
-- estimated_runtime (12), burst (1).
local BUCKET = 900000

local function sla_score(soft, hard)
  if hard and NOW > hard then
    return 1000 + math.min(999, math.floor((NOW - hard) / BUCKET))
  elseif soft and NOW > soft then
    return 500 + math.min(499, math.floor((NOW - soft) / BUCKET))
  end
  local due = soft or hard
  if not due then return 0 end
  return math.min(499, math.max(1, 500 - math.ceil((due - NOW) / BUCKET)))
end

-- Where a whole number ≥ 1 stands on a scale with `steps` equal parts in every doubling.
local function log_step(number, steps)
  local doublings, base = 0, 1
  while base * 2 <= number do
    base = base * 2
    doublings = doublings + 1
  end
  return steps * doublings + math.floor((number - base) * steps / base)
end

-- estimate: milliseconds, or nil for unknown.
local function rank(level, priority, soft, hard, estimate)
  local depth = 131071 - math.min(131071, tonumber(level))
  local urgency = 1999999 - (sla_score(tonumber(soft), tonumber(hard)) * 1000 + tonumber(priority))
  local runtime = estimate and math.min(4094, log_step(tonumber(estimate) + 1, 128)) or 4095
  return ((depth * 2097152 + urgency) * 4096 + runtime) * 2 + 1
end

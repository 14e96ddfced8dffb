-- @include base
-- @generate planner
-- A ready job's place in the sorted set of its executor: lower is sooner, equal ranks go by id, which is the order
-- of submission. Mirrors planning/keys.py and planning/ranking.py number by number; a test compares both. The row of
-- sort keys in force, their widths (BITS) and the defaults (PLANNER) come from Python.
--   job: level, priority, soft, hard, runtime, path, ready, submitted, activated (milliseconds, nil = unknown)
local policy_in_force -- @fresh
local planner
do
  local function read_policy()
    local found = redis.call('HMGET', P .. 'planner', unpack(PLANNER_FIELDS))
    local policy = { keys = {} }
    for i, name in ipairs(PLANNER_FIELDS) do
      local value = found[i] or PLANNER[name]
      policy[name] = tonumber(value) or value
    end
    for key in string.gmatch(policy.rank_keys, '%S+') do policy.keys[#policy.keys + 1] = key end
    return policy
  end

  -- The stamp tells what is in it, so that a policy that was read by an earlier call still holds if its stamp does.
  local kept_policy, kept_stamp -- @kept
  function planner()
    if policy_in_force then return policy_in_force end
    local stamp = redis.call('HGET', P .. 'planner', 'stamp')
    if not stamp or stamp ~= kept_stamp then kept_policy, kept_stamp = read_policy(), stamp end
    policy_in_force = kept_policy
    return policy_in_force
  end
end

local function earliest(a, b)
  if a and b then return math.min(a, b) end
  return a or b
end

local sla_score, sla_next_change
do
  local BUCKET = 900000

  function sla_score(soft, hard)
    if hard and NOW > hard then
      return 1000 + math.min(999, math.floor((NOW - hard) / BUCKET))
    elseif soft and NOW > soft then
      return 500 + math.min(499, math.floor((NOW - soft) / BUCKET))
    end
    local due = soft or hard
    if not due then return 0 end
    return math.min(499, math.max(1, 500 - math.ceil((due - NOW) / BUCKET)))
  end

  local function next_bucket(missed, last)
    local bucket = math.floor((NOW - missed) / BUCKET)
    return bucket < last and missed + (bucket + 1) * BUCKET or nil
  end

  function sla_next_change(soft, hard)
    if hard and NOW > hard then return next_bucket(hard, 999) end
    local own
    if soft and NOW > soft then
      own = next_bucket(soft, 499)
    else
      local due = soft or hard
      if not due then return nil end
      local left = math.ceil((due - NOW) / BUCKET)
      own = left <= 1 and due + 1 or due - (math.min(499, left) - 1) * BUCKET
    end
    return earliest(own, hard and hard + 1)
  end
end

local effective_priority, ageing_next_change
do
  local function ageing_steps(wait, timeout)
    if timeout <= 0 or wait <= 0 then return 0 end
    return math.floor(wait * 6 / timeout)
  end

  function effective_priority(priority, wait, timeout)
    if priority >= 100 then return priority end
    return math.min(99, priority + 10 * ageing_steps(wait, timeout))
  end

  function ageing_next_change(priority, since, timeout)
    local steps = ageing_steps(NOW - since, timeout)
    if timeout <= 0 or priority + 10 * steps >= 99 then return nil end
    return since + math.ceil((steps + 1) * timeout / 6)
  end
end

-- Where a ratio ≥ 1 stands on a scale with `steps` equal parts in every doubling.
local function log_step(numerator, denominator, steps)
  local whole, doublings = math.floor(numerator / denominator), 0
  while whole >= 2 do
    whole = math.floor(whole / 2)
    doublings = doublings + 1
  end
  local base = denominator * 2 ^ doublings
  return steps * doublings + math.floor((numerator - base) * steps / base)
end

local COMBINE = {
  sla_first = function(score, user) return score * 1000 + user end,
  user_first = function(score, user) return user * 2000 + score end,
  sum = function(score, user) return score + user end,
  max = function(score, user) return math.max(score, user) end,
}

-- @include base
-- Fair shares of an executor's slot time. Jobs of a tenant stand in lanes of their own, <executor>@<tenant>; the tenant
-- whose virtual time is lowest is next, and what its jobs cost is added to it, divided by its weight. Mirrors
-- planning/tenants.py.
--   tenants:<executor>   tenants with jobs on offer, by virtual time; '-' are those who name none
--   shares:<executor>    tenant → virtual time of what has ended; '+tenant' → of what is at work, by estimates;
--                        '*' → who was chosen last
--   charges:<executor>   attempt → what was added for it: tenant, virtual microseconds, since when
local NOBODY = '-'

local function lane_of(executor, tenant) return tenant and executor .. '@' .. tenant or executor end
local function tenants_key(executor) return P .. 'tenants:' .. executor end
local function shares_key(executor) return P .. 'shares:' .. executor end

-- Each lane saves up choices for new runs by itself.
local function credit_of(tenant) return tenant and 'credit@' .. tenant or 'credit' end

-- Has anybody ever named a tenant here?
local shared = {} -- @fresh
local function is_shared(executor)
  if shared[executor] == nil then shared[executor] = redis.call('EXISTS', shares_key(executor)) == 1 end
  return shared[executor]
end

local function lanes_of(executor)
  local lanes = { executor }
  for _, tenant in ipairs(is_shared(executor) and redis.call('ZRANGE', tenants_key(executor), 0, -1) or {}) do
    if tenant ~= NOBODY then lanes[#lanes + 1] = lane_of(executor, tenant) end
  end
  return lanes
end

local function jobs_on_offer(lane)
  return redis.call('ZCARD', ready_key(lane)) + redis.call('ZCARD', new_key(lane))
end

local function weight_of(tenant)
  return tonumber(redis.call('HGET', P .. 'weights', tenant) or 1000)
end

local on_offer, off_offer, virtual_time
do
  local function ended_time(executor, tenant)
    return tonumber(tenant and redis.call('HGET', shares_key(executor), tenant) or 0)
  end

  -- Where it stands: what has ended and what is at work.
  function virtual_time(executor, tenant)
    return ended_time(executor, tenant) + tonumber(redis.call('HGET', shares_key(executor), '+' .. tenant) or 0)
  end

  -- Who comes back after a while has saved nothing up: it begins where the one stands who is next, or was last.
  local function join_tenants(executor, tenant)
    if redis.call('ZSCORE', tenants_key(executor), tenant) then return end
    local other = redis.call('ZRANGE', tenants_key(executor), 0, 0)[1] or redis.call('HGET', shares_key(executor), '*')
    local floor = ended_time(executor, other)
    if floor > ended_time(executor, tenant) then redis.call('HSET', shares_key(executor), tenant, int(floor)) end
    redis.call('ZADD', tenants_key(executor), int(virtual_time(executor, tenant)), tenant)
  end

  function on_offer(executor, tenant)
    if tenant and not is_shared(executor) then
      redis.call('HSET', shares_key(executor), '*', tenant)
      shared[executor] = true
      if jobs_on_offer(executor) > 0 then join_tenants(executor, NOBODY) end
    end
    if is_shared(executor) then join_tenants(executor, tenant or NOBODY) end
  end

  function off_offer(executor, tenant)
    if is_shared(executor) and jobs_on_offer(lane_of(executor, tenant)) == 0 then
      redis.call('ZREM', tenants_key(executor), tenant or NOBODY)
    end
  end
end

local charge, settle_charge
do
  local GUESSED_MS = 1000

  -- In microseconds: a short job of a tenant with a large weight must not cost a third less by rounding.
  local function weighed(tenant, ms)
    return int(math.max(0, ms) * 1000000 / weight_of(tenant))
  end

  local function move_on(executor, tenant)
    redis.call('ZADD', tenants_key(executor), 'XX', int(virtual_time(executor, tenant)), tenant)
  end

  function charge(executor, tenant, attempt, ms)
    if not is_shared(executor) then return end
    tenant = tenant or NOBODY
    local virtual = weighed(tenant, ms or GUESSED_MS)
    redis.call('HSET', shares_key(executor), '*', tenant)
    redis.call('HINCRBY', shares_key(executor), '+' .. tenant, virtual)
    redis.call('HSET', P .. 'charges:' .. executor, attempt, tenant .. ' ' .. virtual .. ' ' .. int(NOW))
    move_on(executor, tenant)
  end

  -- It took longer or less long than was guessed.
  function settle_charge(executor, attempt)
    local text = is_shared(executor) and redis.call('HGET', P .. 'charges:' .. executor, attempt)
    if not text then return end
    redis.call('HDEL', P .. 'charges:' .. executor, attempt)
    local tenant, virtual, since = string.match(text, '^(.+) (%d+) (%d+)$')
    redis.call('HINCRBY', shares_key(executor), '+' .. tenant, '-' .. virtual)
    redis.call('HINCRBY', shares_key(executor), tenant, weighed(tenant, NOW - since))
    move_on(executor, tenant)
  end
end

-- @include book
-- @include begin
-- @include overdue
-- The relay: a slot that has just become free goes straight to the best job that waits for it, and the worker goes on with
-- that. The choice is the one that a scheduler would make at this moment. Where it takes more than ranks to make it (tours,
-- a planner of somebody's own, ranks that are being made anew), or where the best job must go by a message of its own,
-- nobody is chosen and the schedulers go on.
local RERANKS = 100
local TRIES = 10

local function offers_slots(executor, worker)
  return tonumber(redis.call('HGET', executor_key(executor) .. ':workers', worker) or 0) > 0
end

local function lane_in_turn(executor)
  local tenant = is_shared(executor) and redis.call('ZRANGE', tenants_key(executor), 0, 0)[1]
  return tenant and tenant ~= NOBODY and tenant or nil
end

-- Mirrors planning/share.py.
local function best_of_lane(executor, tenant)
  local lane = lane_of(executor, tenant)
  if redis.call('EXISTS', P .. 'stale:ready:' .. lane, P .. 'stale:new:' .. lane) > 0 then return nil end
  local active = redis.call('ZRANGE', ready_key(lane), 0, 0, 'WITHSCORES')
  local new = may_begin() and redis.call('ZRANGE', new_key(lane), 0, 0, 'WITHSCORES') or {}
  if not active[1] or not new[1] then return active[1] or new[1] end
  if planner().share >= 0 then
    local credit = tonumber(redis.call('HGET', executor_key(executor), credit_of(tenant)) or 0)
    return credit + planner().share >= 1000 and new[1] or active[1]
  end
  local a, b = tonumber(active[2]), tonumber(new[2])
  return (a < b or (a == b and active[1] < new[1])) and active[1] or new[1]
end

local function needs_a_message(id)
  local job = redis.call('HMGET', job_key(id), 'time_limit', 'soft_time_limit', 'relay')
  return job[1] or job[2] or job[3]
end

-- Returns { job, token, what it needs to know … }, or nil.
local function take_next(executor, worker, message, lease)
  if planner().relays ~= 1 or not offers_slots(executor, worker) or room_left(executor) <= 0 then return nil end
  if rank_overdue(RERANKS) == RERANKS then return nil end
  for _ = 1, TRIES do
    local id = best_of_lane(executor, lane_in_turn(executor))
    if not id or needs_a_message(id) then return nil end
    local code, token = book(id, int(NOW + lease))
    if code == OK then
      local known = begin(id, int(token), worker, message)
      return { id, int(token), unpack(known) }
    end
    if code ~= SHORT and code ~= EXHAUSTED then return nil end
  end
end

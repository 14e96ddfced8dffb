-- @include supply
-- There can be only one run under way, and one that waits. highlander:<name> has both.
local function field_of(name) return P .. 'highlander:' .. name end

local WAITING_STATE = { created = true, paused = true }
local function who_waits(name)
  local run = redis.call('HGET', field_of(name), 'waiting')
  local found = run and redis.call('HMGET', run_key(run), 'state', 'started_at', 'cancel')
  return found and WAITING_STATE[found[1]] and not found[2] and not found[3] and run or nil
end

local function take_the_field(name, run)
  redis.call('HSET', field_of(name), 'running', run)
  if redis.call('HGET', field_of(name), 'waiting') == run then redis.call('HDEL', field_of(name), 'waiting') end
end

local function leave_the_field(run)
  local name = redis.call('HGET', run_key(run), 'highlander')
  if not name then return end
  for _, place in ipairs({ 'running', 'waiting' }) do
    if redis.call('HGET', field_of(name), place) == run then redis.call('HDEL', field_of(name), place) end
  end
  supply('@' .. name)
end

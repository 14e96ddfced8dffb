-- @include schedule
-- @include cancel
-- Taking a slot of a schedule, and what becomes of the run of the slot before.
local function still_going(name)
  local run = redis.call('HGET', schedule_state(name), 'run')
  if not run then return nil end
  local found = redis.call('HMGET', run_key(run), 'state', 'ended_at')
  return found[1] and not found[2] and run or nil
end

local function begin_firing(name, slot, overlap, lease_ms)
  local previous = overlap == 'replace' and still_going(name)
  if previous and redis.call('HEXISTS', run_key(previous), 'cancel') == 0 then
    cancel_run(previous, 'replaced', 'schedule ' .. name)
    wake()
  end
  redis.call('HSET', schedule_state(name), 'firing', slot, 'lease', int(NOW + tonumber(lease_ms)))
end

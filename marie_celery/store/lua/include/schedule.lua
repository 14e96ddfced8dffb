-- @include base
-- A schedule: its definition in the hash `schedules`, its place in `schedule:next` by when to look at it again, and
-- what has become of its slots in schedule:<name>:state and schedule:<name>:waiting.
--   next, due      the slot that comes next, and when it is due
--   firing, lease  the slot that some scheduler is submitting, and how long it is trusted to do so
--   last, run, at  the last slot that was taken, the last run, when that was; error: why there was none
local function schedule_state(name) return P .. 'schedule:' .. name .. ':state' end
local function schedule_waiting(name) return P .. 'schedule:' .. name .. ':waiting' end

-- Nobody is told when a run ends, so while a slot waits for one it is looked at every second.
local WAITING_MS = 1000

local function look_again(name)
  local found = redis.call('HMGET', schedule_state(name), 'due', 'lease')
  local at, lease = tonumber(found[1]), tonumber(found[2])
  if lease then
    at = lease
  elseif redis.call('LLEN', schedule_waiting(name)) > 0 then
    at = math.min(at or math.huge, NOW + WAITING_MS)
  end
  if at then
    redis.call('ZADD', P .. 'schedule:next', int(at), name)
  else
    redis.call('ZREM', P .. 'schedule:next', name)
  end
end

local function set_next(name, slot, due)
  if slot == '' then
    redis.call('HDEL', schedule_state(name), 'next', 'due')
  else
    redis.call('HSET', schedule_state(name), 'next', slot, 'due', due)
  end
end

-- @include base
-- Capacity of an executor: its target where one is set, else what its live workers report.
local function capacity_of(executor)
  local found = redis.call('HMGET', executor_key(executor), 'target', 'capacity')
  return tonumber(found[1] or found[2] or 0)
end

local function room_of(executor)
  local found = redis.call('HMGET', executor_key(executor), 'target', 'capacity', 'paused')
  if found[3] then return 0 end
  return tonumber(found[1] or found[2] or 0) - redis.call('ZCARD', slots_key(executor))
end

local function report_slots(executor, worker, slots)
  local key = executor_key(executor)
  if slots then
    redis.call('HSET', key .. ':workers', worker, slots)
  else
    redis.call('HDEL', key .. ':workers', worker)
  end
  local total = 0
  for _, reported in ipairs(redis.call('HVALS', key .. ':workers')) do
    total = total + tonumber(reported)
  end
  redis.call('HSET', key, 'capacity', int(total))
end

local A_DAY = 86400000

local function drop_worker(worker)
  local key = worker_key(worker)
  local executors = redis.call('HGET', key, 'executors') or ''
  for executor in string.gmatch(executors, '[^,]+') do
    report_slots(executor, worker, nil)
  end
  redis.call('ZREM', P .. 'workers', worker)
  -- What it runs stays listed until its leases end: it may only be cut off, and has to hear then what to stop.
  redis.call('DEL', key)
  redis.call('PEXPIRE', key .. ':jobs', A_DAY)
end

-- The heartbeat of a worker process: reports its slots, renews the leases of all its jobs in one call, and brings
-- back what it has to stop.
--   ARGV[3]  worker   ARGV[4]  milliseconds until it counts as dead
--   ARGV[5]  milliseconds of the run lease   ARGV[6]  milliseconds of the dispatch lease
--   then     n, n × (field, value) of the worker       (host, pid, pool …)
--   then     n, n × (executor, slots)
--   then     n, n × message                            Celery messages in its hands, received or at work
-- A job is renewed only while its message is in the worker's hands: a lost process cannot keep its lease. The slots of a
-- worker that an operator drains do not count.
-- Returns { messages to stop }.
-- @include slots

local at = 7
local function take()
  at = at + 1
  return ARGV[at - 1]
end

local worker = ARGV[3]
local key = worker_key(worker)
local fields = tonumber(take())
local before = redis.call('HGET', key, 'executors')
redis.call('HSET', key, 'seen_at', int(NOW), unpack(ARGV, at, at + fields * 2 - 1))
at = at + fields * 2
redis.call('ZADD', P .. 'workers', int(NOW + tonumber(ARGV[4])), worker)

local names = {}
local is_draining = redis.call('SISMEMBER', P .. 'draining', worker) == 1
for _ = 1, tonumber(take()) do
  local executor, slots = take(), take()
  if not is_draining then names[#names + 1] = executor end
  if not is_draining and redis.call('HGET', executor_key(executor) .. ':workers', worker) ~= slots then
    redis.call('SADD', P .. 'executors', executor)
    report_slots(executor, worker, slots)
    wake()
  end
end
for executor in string.gmatch(before or '', '[^,]+') do
  local kept = false
  for _, name in ipairs(names) do kept = kept or name == executor end
  if not kept then report_slots(executor, worker, nil) end
end
redis.call('HSET', key, 'executors', table.concat(names, ','))

local function renew(attempt, state, lease)
  local id, token = string.match(attempt, '^(.+)%.(%d+)$')
  local job = redis.call('HMGET', job_key(id), 'state', 'token', 'executor')
  if job[2] == token and job[1] == state then
    redis.call('ZADD', slots_key(job[3]), 'XX', int(NOW + tonumber(lease)), attempt)
    return true
  end
  -- A process that is being stopped still needs its slot.
  if job[3] then
    redis.call('ZADD', slots_key(job[3]), 'XX', int(NOW + tonumber(ARGV[6])), attempt)
  end
  return false
end

-- Its lease has ended, and its job has been replayed or pruned since, so nobody else knows who ran it.
local function forget_without_slot(attempt)
  local executor = redis.call('HGET', job_key(string.match(attempt, '^(.+)%.%d+$')), 'executor')
  if not executor or not redis.call('ZSCORE', slots_key(executor), attempt) then
    redis.call('HDEL', key .. ':jobs', attempt)
  end
end

local in_hand = {}
local running = redis.call('HGETALL', key .. ':jobs')
redis.call('PERSIST', key .. ':jobs')
for i = 2, #running, 2 do in_hand[running[i]] = 'lost' end
for _ = 1, tonumber(take()) do
  local message = take()
  if in_hand[message] then
    in_hand[message] = 'held'
  else
    renew(message, 'dispatched', ARGV[6])
  end
end
local stop = {}
for i = 1, #running, 2 do
  local attempt, message = running[i], running[i + 1]
  if in_hand[message] == 'lost' then
    forget_without_slot(attempt)
  elseif not renew(attempt, 'active', ARGV[5]) then
    stop[#stop + 1] = message
  end
end
return stop

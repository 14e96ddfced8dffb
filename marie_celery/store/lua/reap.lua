-- Finds what nobody looks after any more: workers without a heartbeat, attempts whose lease has ended,
-- submissions whose client is gone. Any scheduler may call it at any time.
--   ARGV[3]  milliseconds of the dispatch lease   ARGV[4]  how many of each at most
--   ARGV[5]  '' or the moment after which this call comes too late: it was on its way through an outage, in which
--            leases have ended of workers that are well
-- Returns { workers dropped, attempts lost, attempts sent again, submissions abandoned }.
-- Events: job dispatched → ready; active → ready | failed.
-- @include retry

local limit = ARGV[4]
local dropped, lost, resent, abandoned = 0, 0, 0, 0
if ARGV[5] ~= '' and NOW > tonumber(ARGV[5]) then return { 0, 0, 0, 0 } end

for _, worker in ipairs(redis.call('ZRANGEBYSCORE', P .. 'workers', '-inf', int(NOW), 'LIMIT', 0, limit)) do
  drop_worker(worker)
  dropped = dropped + 1
end

-- Is there a live process that could have started this by now?
local function idle_process(executor)
  local reported = redis.call('HGETALL', executor_key(executor) .. ':workers')
  for i = 1, #reported, 2 do
    if redis.call('HLEN', worker_key(reported[i]) .. ':jobs') < tonumber(reported[i + 1]) then return true end
  end
  return #reported == 0
end

local function reap(executor, attempt)
  local id, token = string.match(attempt, '^(.+)%.(%d+)$')
  local job = redis.call('HMGET', job_key(id), 'state', 'token', 'worker', 'spec')
  local current = job[2] == token
  if current and job[1] == 'dispatched' and not idle_process(executor) then
    redis.call('ZADD', slots_key(executor), int(NOW + tonumber(ARGV[3])), attempt)
    return
  end
  free_slot(executor, job[3], attempt)
  wake()
  if current and job[1] == 'dispatched' then
    make_ready(id, 'dispatched', 'not_started')
    resent = resent + 1
  elseif current and job[1] == 'active' then
    redis.call('HSET', run_key(run_of(id)) .. ':errors', number_of(id),
      cjson.encode({ type = 'WorkerLost', message = 'worker ' .. (job[3] or '?') .. ' stopped renewing its lease' }))
    fail_attempt(id, 'active', 'crash', job[4], false, nil, 0)
    lost = lost + 1
  end
end

for _, executor in ipairs(redis.call('SMEMBERS', P .. 'executors')) do
  for _, attempt in ipairs(redis.call('ZRANGEBYSCORE', slots_key(executor), '-inf', int(NOW), 'LIMIT', 0, limit)) do
    reap(executor, attempt)
  end
end

for _, run in ipairs(redis.call('ZRANGEBYSCORE', P .. 'staging', '-inf', int(NOW), 'LIMIT', 0, limit)) do
  redis.call('ZREM', P .. 'staging', run)
  redis.call('RPUSH', P .. 'advance', 'delete ' .. run .. ' - 0')
  abandoned = abandoned + 1
  wake()
end

settle()
return { dropped, lost, resent, abandoned }

-- @include walk
-- Jobs of an ended run that run again.
-- Instructions are '<number> <parents left> <skipped> <failed>', those that can run at once last: nothing may end while
-- what stands behind it has not been reset.
local function sweep_replay(item)
  local key = run_key(item[2])
  -- Somebody may have cancelled it while it was on its way.
  local cancelled = redis.call('HGET', key, 'cancel')
  for _ = 1, BUDGET do
    local order = redis.call('LPOP', key .. ':replay')
    if not order then return end
    local number, deps, skipped, failed = string.match(order, '^(%d+) (%d+) (%d+) (%d+)$')
    local id = job_id(item[2], number)
    local before = redis.call('HMGET', job_key(id), 'state', 'control')
    redis.call('HDEL', job_key(id), 'due', 'failures', 'timeouts', 'crashes', 'hold')
    redis.call('HSET', job_key(id), 'state', 'created', 'at', int(NOW), 'reason', 'replay', 'deps', deps,
      'skipped_parents', skipped, 'failed_parents', failed)
    redis.call('HINCRBY', job_key(id), 'epoch', 1)
    redis.call('HINCRBY', key, before[1], -1)
    redis.call('HINCRBY', key, 'created', 1)
    redis.call('HDEL', key .. ':errors', int(tonumber(number)))
    redis.call('ZREM', P .. 'dead', id)
    event('job', id, before[1], 'created', 'replay')
    if cancelled then
      stop_job(id, 'cancelled', cancelled)
    elseif deps == '0' then
      release(id, before[2])
    end
  end
  redis.call('LPUSH', P .. 'advance', piece(unpack(item)))
end

-- @include settle
-- What becomes of a job whose attempt failed: another attempt after its delay, or the end and the dead letters.
-- Mirrors model/retry.py. Each kind of failure has a counter and a limit of its own.
local RETRY = {
  failure = { counter = 'failures', limit = 'retry_limit', reason = 'failed' },
  timeout = { counter = 'timeouts', limit = 'timeout_retry_limit', reason = 'timeout' },
  crash = { counter = 'crashes', limit = 'crash_limit', reason = 'poison' },
}

local function retry_delay(policy, number, roll)
  local delay = policy.retry_delay
  if policy.retry_backoff then
    delay = delay * 2 ^ math.min(number - 1, 16)
  end
  return math.min(delay, policy.retry_max_delay) * (1 - policy.retry_jitter * roll) * 1000
end

-- give_up: the error itself forbids a retry. delay: milliseconds asked for by the task, or nil.
local function fail_attempt(id, from, kind, spec, give_up, delay, roll, by)
  local rule = RETRY[kind]
  local number = redis.call('HINCRBY', job_key(id), rule.counter, 1)
  local policy = cjson.decode(redis.call('HGET', run_key(run_of(id)) .. ':specs', spec))
  local limit = policy[rule.limit]
  if kind == 'crash' then limit = limit - 1 end
  if give_up or number > limit then
    bury(id, from, give_up and 'gave_up' or rule.reason, by)
    return 'failed'
  end
  -- A lost worker is not the job's fault: it goes back to the front at once.
  if not delay then
    delay = kind == 'crash' and 0 or retry_delay(policy, number, roll)
  end
  if delay <= 0 then
    make_ready(id, from, kind)
    return 'ready'
  end
  local due = int(NOW + math.ceil(delay))
  move(id, from, 'retry', kind, by)
  redis.call('HSET', job_key(id), 'due', due)
  redis.call('ZADD', P .. 'delayed', due, id)
  wake()
  return 'retry'
end

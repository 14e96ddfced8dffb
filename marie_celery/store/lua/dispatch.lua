-- Books a slot for each job, in the order given, and hands its message to the broker in the same step.
--   ARGV[3]  milliseconds of the dispatch lease
--   ARGV[4]  limit over all executors together, 0 = none
--   then     n, n × (queue key, template)              messages, rendered but for what differs per job
--   then     n, n × (job, number of its template)      0 = the caller publishes the message itself
-- Returns { n × { code, token } } with code OK | NOT_READY | FULL.
-- Events: job ready → dispatched; run created → active with its first job.
-- @include transition
-- @include slots
-- @include message
-- @generate codes

local at = 5
local function take()
  at = at + 1
  return ARGV[at - 1]
end

local lease = int(NOW + tonumber(ARGV[3]))
local templates = {}
for number = 1, tonumber(take()) do
  templates[number] = { take(), take() }
end

local room = {}
local function room_of(executor)
  if not room[executor] then
    room[executor] = capacity_of(executor) - redis.call('ZCARD', slots_key(executor))
  end
  return room[executor]
end

local overall = math.huge
if tonumber(ARGV[4]) > 0 then
  overall = tonumber(ARGV[4])
  for _, executor in ipairs(redis.call('SMEMBERS', P .. 'executors')) do
    overall = overall - redis.call('ZCARD', slots_key(executor))
  end
end

local function activate(run)
  local key = run_key(run)
  if redis.call('HGET', key, 'state') == 'created' then
    redis.call('HSET', key, 'state', 'active', 'started_at', int(NOW))
    event('run', run, 'created', 'active')
  end
end

local answers = {}
for number = 1, tonumber(take()) do
  local id = take()
  local template = templates[tonumber(take())]
  local job = redis.call('HMGET', job_key(id), 'state', 'executor')
  local run = run_of(id)
  if job[1] ~= 'ready' or redis.call('HEXISTS', run_key(run), 'cancel') == 1 then
    answers[number] = { NOT_READY, 0 }
  elseif room_of(job[2]) <= 0 or overall <= 0 then
    answers[number] = { FULL, 0 }
  else
    local token = redis.call('HINCRBY', job_key(id), 'token', 1)
    redis.call('HDEL', job_key(id), 'worker')
    redis.call('ZREM', ready_key(job[2]), id)
    redis.call('ZADD', slots_key(job[2]), lease, attempt_id(id, token))
    room[job[2]] = room[job[2]] - 1
    overall = overall - 1
    activate(run)
    move(id, 'ready', 'dispatched')
    if template then
      redis.call('LPUSH', template[1], message(template[2], id, token))
    end
    answers[number] = { OK, token }
  end
end
return answers

-- Accepts a run. Small runs come in one call; large ones in chunks under a staging run that nobody sees until
-- the last call flips it, so a submit is all or nothing.
--   ARGV[3]  run id, or '' to mint one (the first call)
--   ARGV[4]  '1' if this is the last call
--   ARGV[5]  milliseconds until an unfinished submission counts as abandoned
--   ARGV[6]  the user's key, '' = none   ARGV[7]  duplicate policy
--   then     n, n × (field, value) of the run          (first call only, else 0)
--   then     n, n × (number, policy as JSON)           (first call only, else 0)
--   then     n, n × executor name                      (first call only, else 0)
--   then     first job number, jobs as JSON: { inputs, field, value, field, value … } … (one argument for all: they are
--            many, and each costs more than what is in it)
--   ARGV[8]  the name under which only one run may wait, '' = none
--   ARGV[9]  milliseconds of the dispatch lease   ARGV[10] limit over all executors together, 0 = none
-- Returns { OK, run } | { DUPLICATE, run that has the key } | { WAITING, run that waits already } | { GONE, run }.
-- Events: run '' → created at the flip, job created → ready for its roots; those of a dispatch.
-- @include sending
-- @include cancel
-- @include slas

local at = 11
local function take()
  at = at + 1
  return ARGV[at - 1]
end

local function mint()
  local last = tonumber(redis.call('GET', P .. 'clock') or 0)
  local id = math.max(NOW_US, last + 1)
  redis.call('SET', P .. 'clock', string.format('%.0f', id))
  local high = math.floor(id / 4294967296)
  return string.format('%05x%08x', high, id - high * 4294967296)
end

local OPEN = { created = true, active = true, paused = true }
local user_key, policy = ARGV[6], ARGV[7]
local holder = user_key ~= '' and redis.call('HGET', P .. 'run-keys', user_key)
local holder_state = holder and redis.call('HGET', run_key(holder), 'state')

local function refused()
  if not holder_state or policy == 'allow_all' or policy == 'replace' then return false end
  return policy == 'reject_all' or OPEN[holder_state] or
    (policy == 'reject_duplicate' and holder_state == 'completed')
end

local run = ARGV[3]
local function refuse(code, other)
  if run ~= '' then
    redis.call('ZREM', P .. 'staging', run)
    redis.call('RPUSH', P .. 'advance', 'delete ' .. run .. ' - 0')
    wake()
  end
  return { code, other }
end
if refused() then return refuse(DUPLICATE, holder) end
local waiting = ARGV[8] ~= '' and who_waits(ARGV[8])
if waiting then return refuse(WAITING, waiting) end
if run == '' then
  run = mint()
  local key = run_key(run)
  local fields = tonumber(take())
  redis.call('HSET', key, 'state', 'staging', 'left', '0', 'created_at', int(NOW),
    unpack(ARGV, at, at + fields * 2 - 1))
  at = at + fields * 2
  settle_slas(key, run)
  for _ = 1, tonumber(take()) do
    redis.call('HSET', key .. ':specs', take(), take())
  end
  for _ = 1, tonumber(take()) do
    redis.call('SADD', P .. 'executors', take())
  end
else
  if not redis.call('ZSCORE', P .. 'staging', run) then
    return { GONE, run }
  end
  for _ = 1, 3 do take() end
end

local key = run_key(run)
local inherited = redis.call('HMGET', key, 'soft', 'hard')
local number = tonumber(take())
local jobs = cjson.decode(take())
local inputs = {}
for i, fields in ipairs(jobs) do
  local id = job_id(run, number)
  local job = job_key(id)
  inputs[#inputs + 1] = int(number)
  inputs[#inputs + 1] = fields[1]
  redis.call('HSET', job, 'state', 'created', unpack(fields, 2))
  local has_sla = inherited[1] or inherited[2]
  for place = 2, #fields, 2 do has_sla = has_sla or fields[place] == 'sla' end
  if has_sla then settle_slas(job, id, inherited) end
  number = number + 1
  if #inputs >= 1000 or i == #jobs then
    redis.call('HSET', key .. ':inputs', unpack(inputs))
    inputs = {}
  end
end
redis.call('HSET', key, 'jobs', int(number))

if ARGV[4] ~= '1' then
  redis.call('ZADD', P .. 'staging', int(NOW + tonumber(ARGV[5])), run)
  return { OK, run }
end

redis.call('ZREM', P .. 'staging', run)
if user_key ~= '' then
  if policy == 'replace' and OPEN[holder_state] then cancel_run(holder, 'replaced') end
  redis.call('HSET', P .. 'run-keys', user_key, run)
end
redis.call('HSET', key, 'state', 'created', 'left', int(number), 'created', int(number))
redis.call('ZADD', P .. 'runs', int(NOW), run)
if ARGV[8] ~= '' then redis.call('HSET', field_of(ARGV[8]), 'waiting', run) end
event('run', run, '', 'created')
calls_for = {}
settling[#settling + 1] = { 'roots', run, '-', 0 }
settle()
limit_all(tonumber(ARGV[10]))
fill_or_wake(calls_for, tonumber(ARGV[9]))
return { OK, run }

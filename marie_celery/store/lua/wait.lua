-- An attempt says that it is too early: the job is asked again later, at no cost to its retries.
--   ARGV[3]  job   ARGV[4]  token   ARGV[5]  worker   ARGV[6]  why
--   ARGV[7]  milliseconds to wait, '' = as a gate says, else the delay of its retries
-- Returns { OK } | { STALE }.
-- Events: job active → retry.
-- @include settle
-- @generate codes

local id, token, worker = ARGV[3], ARGV[4], ARGV[5]
local job = redis.call('HMGET', job_key(id), 'state', 'token', 'executor', 'spec', 'ask_again')
if job[3] then free_slot(job[3], worker, attempt_id(id, token)) end
wake()
if job[1] ~= 'active' or job[2] ~= token then
  count('fencedWrites')
  return { STALE }
end

local delay = tonumber(ARGV[7]) or tonumber(job[5])
if not delay then
  delay = cjson.decode(redis.call('HGET', run_key(run_of(id)) .. ':specs', job[4])).retry_delay * 1000
end
local due = int(NOW + math.ceil(delay))
move(id, 'active', 'retry', ARGV[6], worker)
redis.call('HSET', job_key(id), 'due', due)
redis.call('HINCRBY', job_key(id), 'waits', 1)
redis.call('HDEL', run_key(run_of(id)) .. ':errors', number_of(id))
redis.call('ZADD', P .. 'delayed', due, id)
return { OK }

-- A worker begins an attempt.
--   ARGV[3]  job   ARGV[4]  token   ARGV[5]  worker   ARGV[6]  id of the Celery message
--   ARGV[7]  milliseconds of the run lease
-- Returns { OK, inputs, policy, { field, value … } of the job, { number, result … } of what the inputs refer to,
-- { field, value … } of the run, what is booked for it: { resource, items } … as JSON, or '' } | { STALE }.
-- Events: job dispatched → active.
-- @include supply
-- @include ranges
-- @generate codes

local id, token, worker = ARGV[3], ARGV[4], ARGV[5]
local key = job_key(id)
local job = redis.call('HMGET', key, 'state', 'token', 'executor', 'refs', 'spec', 'worker', 'final')
local run = run_key(run_of(id))
local attempt = attempt_id(id, token)
local is_cancelled = redis.call('HEXISTS', run, 'cancel') == 1 and not job[7]
if job[1] ~= 'dispatched' or job[2] ~= token or is_cancelled then
  -- A message that is delivered twice must not take the slot of the process that runs it, or is just being stopped.
  if job[2] == token and not job[6] then
    free_slot(job[3], worker, attempt)
    wake()
  end
  count('fencedWrites')
  return { STALE }
end

move(id, 'dispatched', 'active', nil, worker)
redis.call('HSET', key, 'worker', worker)
redis.call('ZADD', slots_key(job[3]), int(NOW + tonumber(ARGV[7])), attempt)
redis.call('HSET', worker_key(worker) .. ':jobs', attempt, ARGV[6])

local results = {}
if job[4] then
  local batch = {}
  local function fetch()
    local found = redis.call('HMGET', run .. ':results', unpack(batch))
    for i, number in ipairs(batch) do
      results[#results + 1] = number
      results[#results + 1] = found[i]
    end
    batch = {}
  end
  each_number(job[4], 0, function(number)
    batch[#batch + 1] = int(number)
    if #batch == 500 then fetch() end
    return true
  end)
  if #batch > 0 then fetch() end
end

return {
  OK,
  redis.call('HGET', run .. ':inputs', number_of(id)),
  redis.call('HGET', run .. ':specs', job[5]),
  redis.call('HGETALL', key),
  results,
  { 'dag', redis.call('HGET', run, 'dag') },
  redis.call('HGET', P .. 'bookings', attempt) or '',
}

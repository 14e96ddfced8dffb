-- @include supply
-- @include ranges
-- A worker begins an attempt that is booked for it. Returns what it needs to know: inputs, { field, value … } of the job,
-- { number, result … } of what the inputs refer to, { field, value … } of the run, what is booked for it as JSON:
-- { resource, items } …, or ''.
local function results_of(run, refs)
  local results, batch = {}, {}
  local function fetch()
    local found = redis.call('HMGET', run .. ':results', unpack(batch))
    for i, number in ipairs(batch) do
      results[#results + 1] = number
      results[#results + 1] = found[i]
    end
    batch = {}
  end
  each_number(refs, 0, function(number)
    batch[#batch + 1] = int(number)
    if #batch == 500 then fetch() end
    return true
  end)
  if #batch > 0 then fetch() end
  return results
end

local function begin(id, token, worker, message)
  local run, attempt = run_key(run_of(id)), attempt_id(id, token)
  move(id, 'dispatched', 'active', nil, worker, 'worker', worker)
  redis.call('HSET', worker_key(worker) .. ':jobs', attempt, message)
  local fields, job = redis.call('HGETALL', job_key(id)), {}
  for i = 1, #fields, 2 do job[fields[i]] = fields[i + 1] end
  return {
    redis.call('HGET', run .. ':inputs', number_of(id)),
    fields,
    job.refs and results_of(run, job.refs) or {},
    { 'dag', redis.call('HGET', run, 'dag') },
    job.needs and redis.call('HGET', P .. 'bookings', attempt) or '',
  }
end

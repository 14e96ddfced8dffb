-- @include supply
-- @include ranges
-- A worker begins an attempt that is booked for it. Returns what it needs to know: inputs, { field, value … } of the job,
-- { number, result … } of what the inputs refer to, the dag, what is booked for it as JSON: { resource, items } …, or ''.
local begin
-- Of a result that this call has brought: run, number, text.
local last_result = {} -- @fresh
do
  local function result_of(run, number)
    if last_result[1] == run and last_result[2] == number then return last_result[3] end
    return redis.call('HGET', run_key(run) .. ':results', number)
  end

  local function results_of(id, refs)
    if tonumber(refs) then return { refs, result_of(run_of(id), refs) } end
    local run = run_key(run_of(id))
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

  function begin(job, token, worker, message)
    local run, attempt = run_of(job.id), attempt_id(job.id, token)
    local key = run_key(run)
    redis.call('HSET', worker_key(worker) .. ':jobs', attempt, message)
    local fields = { 'name', job.name, 'executor', job.executor, 'task', job.task }
    if job.batch then fields[7], fields[8] = 'batch', job.batch end
    if job.ask_again then fields[#fields + 1], fields[#fields + 2] = 'ask_again', job.ask_again end
    return {
      redis.call('HGET', key .. ':inputs', number_of(job.id)),
      fields,
      job.refs and results_of(job.id, job.refs) or {},
      facts_of_run(run).dag,
      job.needs ~= NEEDS_NOTHING and redis.call('HGET', P .. 'bookings', attempt) or '',
    }
  end
end

-- Compares the state of a run's jobs with the structures that should hold them, puts right what differs and tells it.
-- Nothing should ever be found; that this is so is what it is for.
--   ARGV[3]  run   ARGV[4]  first job number   ARGV[5]  milliseconds of the dispatch lease
-- Returns { next number or -1, { job, what was wrong … } }.
-- @include settle

local run, from = ARGV[3], tonumber(ARGV[4])
local jobs = tonumber(redis.call('HGET', run_key(run), 'jobs') or 0)
local healed = {}
local function heal(id, what)
  healed[#healed + 1] = id
  healed[#healed + 1] = what
  count('reconciled')
end

local function stands_in_line(id)
  local text, executor = unpack(redis.call('HMGET', job_key(id), 'short', 'executor'), 1, 2)
  if text and not redis.call('ZSCORE', parked_key(executor), id) then return false end
  for _, line in ipairs(text and cjson.decode(text) or {}) do
    if not redis.call('ZSCORE', short_key(line), id) then return false end
  end
  return text
end

local function places(id, lane)
  local found = 0
  for _, name in ipairs({ 'ready:', 'new:', 'stale:ready:', 'stale:new:' }) do
    if redis.call('ZSCORE', P .. name .. lane, id) then found = found + 1 end
  end
  if stands_in_line(id) then found = found + 1 end
  return found
end

local CHECK = {
  ready = function(id, job)
    if places(id, lane_of(job[2], job[5])) ~= 1 then
      for _ = 1, 5 do leave_ready(id, job[2], job[5]) end
      put_in_place(id)
      heal(id, 'ready without a place')
    end
  end,
  retry = function(id, job)
    if not redis.call('ZSCORE', P .. 'delayed', id) then
      redis.call('ZADD', P .. 'delayed', job[4] or int(NOW), id)
      heal(id, 'retry without a time')
    end
  end,
  held = function(id)
    if not redis.call('ZSCORE', P .. 'held', id) then
      redis.call('ZADD', P .. 'held', int(NOW), id)
      heal(id, 'held and not listed')
    end
  end,
}
local function holds_slot(id, job)
  local attempt = attempt_id(id, job[3])
  if not redis.call('ZSCORE', slots_key(job[2]), attempt) then
    redis.call('ZADD', slots_key(job[2]), int(NOW + tonumber(ARGV[5])), attempt)
    heal(id, 'at work without a slot')
  end
end
CHECK.active = function(id, job)
  if not job[6] then
    holds_slot(id, job)
  elseif not (job[8] and job[7] == job[8]) and not redis.call('ZSCORE', P .. 'expand', id) then
    redis.call('ZADD', P .. 'expand', int(NOW), id)
    heal(id, 'a map whose items nobody makes')
  end
end
local is_cancelling = redis.call('HEXISTS', run_key(run), 'cancel') == 1
CHECK.dispatched = function(id, job)
  -- A worker that was told not to start it has given its slot back, and the cancel is on its way here.
  if not is_cancelling then holds_slot(id, job) end
end

local last = math.min(jobs, from + BUDGET) - 1
for number = from, last do
  local id = job_id(run, number)
  local job = redis.call('HMGET', job_key(id), 'state', 'executor', 'token', 'due', 'tenant', 'control', 'made',
    'items')
  if CHECK[job[1]] then CHECK[job[1]](id, job) end
end
settle()
return { last + 1 < jobs and last + 1 or -1, healed }

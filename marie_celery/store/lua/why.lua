-- One consistent look at jobs of a run and at all that could hold them up. Changes nothing.
--   ARGV[3]  run   ARGV[4]  how many to tell of those first in line and of those who hold slots
--   ARGV[5]  how many jobs, then their numbers
-- Returns { now, { n × value } of the run, { n × { job, { field, value … }, error, line, score, place there, place in
-- the other line, { n × shortage }, { highlander, its run } } }, { n × lane of an executor }, { n × value } of the
-- cluster }, the values in the order of why/snapshot.py.
-- @include slots
-- @include hindrance

local run, most = ARGV[3], tonumber(ARGV[4])

-- How many of a line stand before this place.
local function before(key, score, id)
  local low, high = 0, redis.call('ZCARD', key)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = redis.call('ZRANGE', key, middle, middle, 'WITHSCORES')
    local rank_there = tonumber(other[2])
    if rank_there < score or (rank_there == score and other[1] < id) then low = middle + 1 else high = middle end
  end
  return low
end

local OTHER = { ready = 'new', new = 'ready' }

local function place_of(id, lane)
  for _, line in ipairs({ 'ready', 'new', 'stale:ready', 'stale:new' }) do
    local key = P .. line .. ':' .. lane
    local score = redis.call('ZSCORE', key, id)
    if score then
      local other = OTHER[line] and before(P .. OTHER[line] .. ':' .. lane, tonumber(score), id) or 0
      return line, score, redis.call('ZRANK', key, id), other
    end
  end
  return '', '0', 0, 0
end

local wanted, seen = {}, {}
local function describe(id)
  local fields = redis.call('HGETALL', job_key(id))
  if #fields == 0 then return { id, fields, '', '', '0', 0, 0, {}, {} } end
  local executor, tenant, state = unpack(redis.call('HMGET', job_key(id), 'executor', 'tenant', 'state'), 1, 3)
  local lane = lane_of(executor, tenant)
  if not seen[lane] then
    seen[lane] = true
    wanted[#wanted + 1] = { executor, tenant }
  end
  local error_text = redis.call('HGET', run_key(run) .. ':errors', number_of(id)) or ''
  local line, score, place, other = place_of(id, lane)
  local short = state == 'ready' and shortages_of(id, most) or {}
  return { id, fields, error_text, line, score, place, other, short, { rival_of(run) } }
end

local function first_in(key)
  local found, first = redis.call('ZRANGE', key, 0, most - 1, 'WITHSCORES'), {}
  for i = 1, #found, 2 do
    first[#first + 1] = { found[i], redis.call('HGET', job_key(found[i]), 'name') or '', found[i + 1] }
  end
  return first
end

local function holders_of(executor)
  local holders = {}
  for _, attempt in ipairs(redis.call('ZRANGE', slots_key(executor), 0, most - 1)) do
    holders[#holders + 1] = attempt
    holders[#holders + 1] = redis.call('HGET', job_key(string.match(attempt, '^(.+)%.%d+$')), 'worker') or ''
  end
  return holders
end

local function live_workers(executor)
  local reported, live = redis.call('HGETALL', executor_key(executor) .. ':workers'), {}
  for i = 1, #reported, 2 do
    local lease = redis.call('ZSCORE', P .. 'workers', reported[i])
    if lease and tonumber(lease) > NOW then
      live[#live + 1] = reported[i]
      live[#live + 1] = reported[i + 1]
    end
  end
  return live
end

local function look_at(executor, tenant)
  local lane = lane_of(executor, tenant)
  local aside = redis.call('ZCARD', P .. 'stale:ready:' .. lane) + redis.call('ZCARD', P .. 'stale:new:' .. lane)
  return {
    executor, tenant or '', capacity_of(executor), redis.call('HEXISTS', executor_key(executor), 'paused'),
    tonumber(redis.call('HGET', executor_key(executor), credit_of(tenant)) or 0),
    redis.call('ZCARD', ready_key(lane)), redis.call('ZCARD', new_key(lane)), aside,
    first_in(ready_key(lane)), first_in(new_key(lane)),
    redis.call('ZCARD', slots_key(executor)), holders_of(executor), live_workers(executor),
    standing_of(executor, tenant),
  }
end

local jobs, executors, held = {}, {}, 0
for i = 6, 5 + tonumber(ARGV[5]) do jobs[#jobs + 1] = describe(job_id(run, tonumber(ARGV[i]))) end
for i, lane in ipairs(wanted) do executors[i] = look_at(lane[1], lane[2]) end
for _, executor in ipairs(redis.call('SMEMBERS', P .. 'executors')) do
  held = held + redis.call('ZCARD', slots_key(executor))
end
local by = planner()
return {
  NOW,
  redis.call('HGETALL', run_key(run)),
  jobs,
  executors,
  { by.name, by.rank_keys, by.share, by.max_active_dags, redis.call('ZCARD', P .. 'active'), held,
    redis.call('ZCOUNT', P .. 'schedulers', '(' .. int(NOW), '+inf'), redis.call('LLEN', P .. 'advance'),
    redis.call('ZSCORE', P .. 'staging', run) or '' },
}

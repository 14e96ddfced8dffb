-- What could be dispatched now: per executor with room, its best jobs by rank, those of runs that have begun and those
-- of new runs apart, so that neither hides the other. Where tenants share an executor, each has a row of its own.
--   ARGV[3]  how many beyond the room   ARGV[4]  how many per executor and kind at most
-- Returns { now, planner, whether it parks what is short, ms until the next retry, re-rank and SLA (-1 = none), pieces of left work, untold alerts,
-- ms until the next slot of a schedule, ms until the next look at what is short, ms until the next map to expand, { executor, room, waiting, credit,
-- { job, n × value … } …, tenant, its virtual time, its weight, since when a held job waits or '' } … }, the values in the order of Candidate in records.py.
-- @include ready
-- @include slots

local new_may_begin = true
local most_active = planner().max_active_dags
if most_active > 0 then new_may_begin = redis.call('ZCARD', P .. 'active') < most_active end

local function describe(id)
  local job = redis.call('HMGET', job_key(id), 'task', 'level', 'priority', 'soft', 'hard', 'at',
    'estimate', 'path', 'time_limit', 'soft_time_limit', 'needs', 'skips')
  job[7] = job[7] or learned_runtime(job[1]) or false
  local times = facts_of_run(run_of(id))
  return { id, times.submitted, times.activated or false, unpack(job, 1, 12) }
end

local function until_next(key)
  local next = redis.call('ZRANGE', P .. key, 0, 0, 'WITHSCORES')
  return next[2] and math.max(0, tonumber(next[2]) - NOW) or -1
end

-- Right after a swap of planners part of the line stands aside: choosing from the rest would be choosing blindly. It
-- takes a moment; only a very long line is not waited for.
local WAITED_FOR = 20000
local function is_being_ranked(lane)
  local aside = redis.call('ZCARD', P .. 'stale:ready:' .. lane) + redis.call('ZCARD', P .. 'stale:new:' .. lane)
  return aside > 0 and aside <= WAITED_FOR
end

local function best_of(lane, room)
  local jobs = {}
  local last = math.min(room + tonumber(ARGV[3]), tonumber(ARGV[4])) - 1
  for _, id in ipairs(redis.call('ZRANGE', ready_key(lane), 0, last)) do
    jobs[#jobs + 1] = describe(id)
  end
  if new_may_begin then
    for _, id in ipairs(redis.call('ZRANGE', new_key(lane), 0, last)) do
      jobs[#jobs + 1] = describe(id)
    end
  end
  return jobs
end

-- What an operator holds back waits too, and with tours that counts for its queue. The first hundred are looked at.
local held_since = {}
if planner().parks == 0 then
  for _, id in ipairs(redis.call('ZRANGE', P .. 'held', 0, 99)) do
    local found = redis.call('HMGET', job_key(id), 'executor', 'since')
    if found[2] then held_since[found[1]] = earliest(held_since[found[1]], tonumber(found[2])) end
  end
end

local function row_of(executor, room, tenant, virtual)
  local name = tenant ~= NOBODY and tenant or nil
  local lane = lane_of(executor, name)
  local waiting = jobs_on_offer(lane)
  local jobs = waiting > 0 and room > 0 and not is_being_ranked(lane) and best_of(lane, room) or {}
  local credit = tonumber(redis.call('HGET', executor_key(executor), credit_of(name)) or 0)
  return { executor, room, waiting, credit, jobs, name or '', tonumber(virtual), weight_of(tenant), held_since[executor] or '' }
end

local answer = { NOW, planner().name, planner().parks, until_next('delayed'), until_next('rerank'), until_next('sla'),
  redis.call('LLEN', P .. 'advance'), redis.call('LLEN', P .. 'alerts'), until_next('schedule:next'), until_next('supply'),
  until_next('expand') }
for _, executor in ipairs(redis.call('SMEMBERS', P .. 'executors')) do
  local room = room_of(executor)
  local sharing = is_shared(executor) and room > 0
    and redis.call('ZRANGE', tenants_key(executor), 0, room + tonumber(ARGV[3]) - 1, 'WITHSCORES') or {}
  if #sharing == 0 then sharing = { NOBODY, '0' } end
  for i = 1, #sharing, 2 do
    answer[#answer + 1] = row_of(executor, room, sharing[i], sharing[i + 1])
  end
end
return answer

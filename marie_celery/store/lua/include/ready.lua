-- @include hand
-- @include resources
-- Ready jobs: `ready:<executor>` has those of runs that have begun, `new:<executor>` those of runs that have not, so
-- that neither hides the other. What is short of a resource stands in `short:<line>` instead, where it hides nobody who
-- needs none of it; `parked:<executor>` has all of these, for those who count. `rerank` knows when a place will be wrong
-- by time alone. What an operator holds back goes from ready to held in the same step.

-- What stands in the way of a ready job beside a slot.
local NO_OBSTACLES = {}
local function obstacles(id, executor, job, score, promised)
  if job.needs == NEEDS_NOTHING and not job.highlander then return NO_OBSTACLES end
  local found = refusals(id, executor, job.needs, score, promised)
  if job.highlander then
    local running = redis.call('HGET', P .. 'highlander:' .. job.highlander, 'running')
    if running and running ~= run_of(id) then found[#found + 1] = { '@' .. job.highlander, 'exhausted' } end
  end
  return found
end

-- Also without a release somebody looks at a line once in a while.
local LOOK_AGAIN_MS = 5000

-- From when on somebody could have had more of a rate.
local function note_due(name, moment)
  local before = tonumber(redis.call('HGET', resource_key(name), 'due') or 0)
  if before > NOW then moment = math.min(before, moment) end
  fill_bucket(name, bucket_of(name), 0)
  redis.call('HSET', resource_key(name), 'due', int(moment))
end

local function lines_of(refused)
  local lines = {}
  for i, refusal in ipairs(refused) do lines[i] = refusal[1] end
  return cjson.encode(lines)
end

-- Planners that do not park look at what is short in every poll. What waits for a grant stands aside all the same.
local function worth_a_line(refused)
  if refused == NO_OBSTACLES or planner().parks == 1 then return refused end
  local own = {}
  for _, refusal in ipairs(refused) do
    if kind_of(refusal[1]) == 'own' then own[#own + 1] = refusal end
  end
  return own
end

local function parked_key(executor) return P .. 'parked:' .. executor end

local has_parked = false -- @fresh
local function park(id, executor, score, refused)
  for _, refusal in ipairs(refused) do
    local line, moment = refusal[1], refusal[3]
    redis.call('ZADD', short_key(line), int(score), id)
    -- A manager of the user's own is to be asked at once.
    local look = kind_of(line) == 'own' and NOW or math.max(NOW + 1, moment or NOW + LOOK_AGAIN_MS)
    redis.call('ZADD', P .. 'supply', 'LT', int(look), line)
    if moment then note_due(line, moment) end
  end
  redis.call('HSET', job_key(id), 'short', lines_of(refused), 'stood', int(score))
  redis.call('ZADD', parked_key(executor), int(score), id)
  has_parked = true
end

-- Whoever stood behind it in a line may be first now.
local function leave_lines(id)
  local found = redis.call('HMGET', job_key(id), 'short', 'executor')
  if not found[1] then return end
  redis.call('HDEL', job_key(id), 'short')
  redis.call('ZREM', parked_key(found[2]), id)
  for _, line in ipairs(cjson.decode(found[1])) do
    redis.call('ZREM', short_key(line), id)
    if redis.call('EXISTS', short_key(line)) == 1 then
      redis.call('ZADD', P .. 'supply', 'LT', int(NOW), line)
      wake()
    end
  end
end

local leave_ready
do
  local PLACES = { 'ready:', 'new:', 'stale:ready:', 'stale:new:' }

  function leave_ready(id, executor, tenant)
    placed[id] = nil
    if was_at_hand(id) then return end
    firsts = {}
    redis.call('ZREM', P .. 'rerank', id)
    local lane = lane_of(executor, tenant)
    for _, name in ipairs(PLACES) do
      if redis.call('ZREM', P .. name .. lane, id) == 1 then
        off_offer(executor, tenant)
        return
      end
    end
    leave_lines(id)
  end
end

-- In the lines a job keeps the rank with which it came, until it is ranked again for a reason: what is learned of
-- runtimes meanwhile would let those who wait pass each other in turn, and nobody go.
local function line_rank(job, score)
  return math.min(score, job.stood or score)
end

-- job: its facts, if the caller has them. is_new_there: nobody has said when to look at it again.
local function put_in_place(id, job, is_new_there)
  job = job or facts_of(id)
  local executor = job.executor
  if job.held then
    if planner().parks == 0 then redis.call('HSET', job_key(id), 'since', int(job.ready)) end
    move(id, 'ready', 'held', job.held)
    redis.call('ZADD', P .. 'held', NOW_TEXT, id)
    redis.call('ZREM', P .. 'rerank', id)
    return job, executor
  end
  local score, change = rank(job)
  local standing = line_rank(job, score)
  local refused = worth_a_line(obstacles(id, executor, job, standing))
  if #refused > 0 then
    park(id, executor, standing, refused)
  else
    firsts = {}
    redis.call('ZADD', P .. (job.activated and 'ready:' or 'new:') .. lane_of(executor, job.tenant), int(score), id)
    on_offer(executor, job.tenant)
    placed[id] = job
  end
  if change then
    redis.call('ZADD', P .. 'rerank', int(change), id)
  elseif not is_new_there then
    redis.call('ZREM', P .. 'rerank', id)
  end
  return job, executor
end

local function make_ready(id, from, why, job)
  job = job or facts_of(id)
  job.state, job.ready = 'ready', NOW
  if not keep_at_hand(job, from, why) then
    job = in_full(job)
    move(id, from, 'ready', why, nil, unpack(job.unwritten or NOTHING))
    put_in_place(id, job, true)
  end
  wake(job.executor)
end

-- A ready job whose facts have changed.
local function rank_again(id)
  local found = redis.call('HMGET', job_key(id), 'executor', 'tenant', 'stood')
  leave_ready(id, found[1], found[2])
  if found[3] then redis.call('HDEL', job_key(id), 'stood') end
  return put_in_place(id)
end

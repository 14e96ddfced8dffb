-- @include rank
-- What jobs share beside slots: how much of it is left, taking it, giving it back. Mirrors the managers in resources/.
--   resource:<name>           kind, size (units, limit or burst), gain, level, at, due, on_shortage
--   resource:<name>:used      key → units in use, '*' where there are no keys
--   resource:<name>:items     all items, in their order; resource:<name>:free those that nobody has
--   resource:<name>:leaving   items that go when they are given back
--   resource:<name>:holders   attempt → { amount, key, items } as JSON
--   resource:<name>:grants    of a manager of the user's own: attempt → items that it may have
--   resource:<name>:returned  the same: attempts that have given back what they had
-- A need is { name, amount, key }. A line is where those stand who need the same thing: <name>, <name>/<key> where keys
-- are counted apart, or @<name> for runs of which only one may be under way.
local TOKEN = 1000000000
-- A rate that is looked at late makes up for it, up to so much, if somebody was waiting.
local CATCH_UP_MS = 1000
local BY_KEY = { concurrency = true, highlander = true }

local function resource_key(name) return P .. 'resource:' .. name end
local function short_key(line) return P .. 'short:' .. line end

local kinds = {} -- @fresh
local function kind_of(name)
  if kinds[name] == nil then kinds[name] = redis.call('HGET', resource_key(name), 'kind') end
  return kinds[name]
end

local function counted_under(name, key)
  return BY_KEY[kind_of(name)] and key ~= '' and key or '*'
end

local function line_of(name, key)
  return BY_KEY[kind_of(name)] and key ~= '' and name .. '/' .. key or name
end

local function bucket_of(name)
  local found = redis.call('HMGET', resource_key(name), 'size', 'gain', 'level', 'at', 'due')
  local gain, level, at, due = tonumber(found[2]), tonumber(found[3]), tonumber(found[4]), tonumber(found[5])
  local most = tonumber(found[1]) * TOKEN
  if NOW - at <= CATCH_UP_MS then most = math.max(most, level) end
  if due and NOW > due and NOW - due <= CATCH_UP_MS then most = most + (NOW - due) * gain end
  return { gain = gain, level = math.min(most, level + math.max(0, NOW - at) * gain), at = math.max(NOW, at) }
end

local function fill_bucket(name, bucket, spent)
  redis.call('HSET', resource_key(name), 'level', int(bucket.level - spent), 'at', int(bucket.at))
end

local function next_attempt(id)
  return attempt_id(id, int(tonumber(redis.call('HGET', job_key(id), 'token') or 0) + 1))
end

-- Units of this need that nobody has. Of a resource that nobody has declared there are none; of one with a manager of the
-- user's own there is what it has granted.
local function available(name, key, id)
  local kind = kind_of(name)
  if not kind then
    return 0
  elseif kind == 'discrete' then
    return redis.call('ZCARD', resource_key(name) .. ':free')
  elseif kind == 'rate' then
    return math.floor(bucket_of(name).level / TOKEN)
  elseif kind == 'own' then
    return redis.call('HEXISTS', resource_key(name) .. ':grants', next_attempt(id)) == 1 and math.huge or 0
  end
  return tonumber(redis.call('HGET', resource_key(name), 'size')) -
    tonumber(redis.call('HGET', resource_key(name) .. ':used', counted_under(name, key)) or 0)
end

-- When time alone will have made enough of it; nil if only a release or a resize can.
local function enough_at(name, amount)
  if kind_of(name) ~= 'rate' then return nil end
  local bucket = bucket_of(name)
  if amount > tonumber(redis.call('HGET', resource_key(name), 'size')) then return nil end
  return math.max(NOW, bucket.at + math.ceil((amount * TOKEN - bucket.level) / bucket.gain))
end

local function shortage_mode(name, executor)
  return redis.call('HGET', resource_key(name), 'on_shortage')
    or redis.call('HGET', executor_key(executor), 'on_shortage') or planner().on_shortage
end

-- Does somebody with a better rank stand in this line, and is it kept for them?
local function passes(line, id, score)
  local head = redis.call('ZRANGE', short_key(line), 0, 0, 'WITHSCORES')
  local rank_there = tonumber(head[2])
  if not head[1] or rank_there > score or (rank_there == score and head[1] >= id) then return nil end
  return head[1]
end

local function is_kept_from(name, line, id, executor, score)
  if kind_of(name) == 'own' then return false end
  local passed = passes(line, id, score)
  if not passed then return false end
  return shortage_mode(name, executor) == 'hold'
    or tonumber(redis.call('HGET', job_key(passed), 'skips') or 0) >= planner().max_skips
end

-- What stands in the way of this job: { { line, answer, when it may be otherwise } … }, empty if nothing does.
-- promised: line → what is spoken for already.
local function refusals(id, executor, needs, score, promised)
  local found = {}
  for _, need in ipairs(needs) do
    local name, amount, key = need[1], need[2], need[3]
    local line = line_of(name, key)
    local left = available(name, key, id) - (promised and promised[line] or 0)
    if left < amount then
      found[#found + 1] = { line, left > 0 and 'short' or 'exhausted', enough_at(name, amount) }
    elseif is_kept_from(name, line, id, executor, score) then
      found[#found + 1] = { line, 'exhausted' }
    end
  end
  return found
end

local take_all
do
  local function take_items(name, amount)
    local items = {}
    local found = redis.call('ZPOPMIN', resource_key(name) .. ':free', amount)
    for i = 1, #found, 2 do items[#items + 1] = found[i] end
    return table.concat(items, ',')
  end

  -- Everything at once; the caller has asked for refusals in the same step.
  function take_all(id, attempt, needs, score)
    local booked = {}
    for _, need in ipairs(needs) do
      local name, amount, key = need[1], need[2], need[3]
      local at, items = resource_key(name), ''
      local kind = kind_of(name)
      if kind == 'discrete' then
        items = take_items(name, amount)
      elseif kind == 'rate' then
        fill_bucket(name, bucket_of(name), amount * TOKEN)
        -- Nobody waits any more: from here on nothing beyond the burst is saved up.
        if redis.call('EXISTS', short_key(name)) == 0 then redis.call('HDEL', at, 'due') end
      else
        redis.call('HINCRBY', at .. ':used', counted_under(name, key), amount)
      end
      if kind == 'own' then
        items = redis.call('HGET', at .. ':grants', attempt)
        redis.call('HDEL', at .. ':grants', attempt)
      end
      redis.call('HSET', at .. ':holders', attempt, cjson.encode({ amount, key, items }))
      booked[#booked + 1] = { name, items }
      local passed = passes(line_of(name, key), id, score)
      if passed then redis.call('HINCRBY', job_key(passed), 'skips', 1) end
    end
    redis.call('HSET', P .. 'bookings', attempt, cjson.encode(booked))
  end
end

local give_back
do
  local function give_back_items(name, items)
    local at = resource_key(name)
    for item in string.gmatch(items, '[^,]+') do
      if redis.call('SREM', at .. ':leaving', item) == 1 then
        redis.call('ZREM', at .. ':items', item)
      else
        redis.call('ZADD', at .. ':free', redis.call('ZSCORE', at .. ':items', item), item)
      end
    end
  end

  -- Returns the line of those who may have it now, or nil if this attempt had nothing.
  function give_back(name, attempt)
    local at = resource_key(name)
    local text = redis.call('HGET', at .. ':holders', attempt)
    if not text then return nil end
    redis.call('HDEL', at .. ':holders', attempt)
    local amount, key, items = unpack(cjson.decode(text), 1, 3)
    local kind = kind_of(name)
    if kind == 'discrete' then
      give_back_items(name, items)
    elseif kind ~= 'rate' then
      local under = counted_under(name, key)
      if redis.call('HINCRBY', at .. ':used', under, -amount) <= 0 then redis.call('HDEL', at .. ':used', under) end
    end
    if kind == 'own' then
      redis.call('RPUSH', at .. ':returned', attempt)
      if redis.call('EXISTS', short_key(name)) == 1 then
        redis.call('ZADD', P .. 'supply', int(NOW), name)
        wake()
      end
      return nil
    end
    return line_of(name, key)
  end
end

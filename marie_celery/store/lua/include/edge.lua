-- @include base
-- An edge between processes: a bounded list per lane, what each consumer holds, and the books.
-- An entry is `<lane> <number> <message as JSON>`; numbers grow with every message that enters.
local E = P .. 'edge:' .. ARGV[3] -- @fresh

local function lane_key(lane) return E .. ':' .. lane end
local function held_key(consumer) return E .. ':held:' .. consumer end
local function depth_of(lane) return redis.call('LLEN', lane_key(lane)) end
local function add(counter, number) return redis.call('HINCRBY', E, counter, number or 1) end
local function number_in(entry) return string.match(entry, '^%a+ (%d+) ') end
-- 0: nobody has opened the edge, or somebody removed its keys.
local function capacity() return tonumber(redis.call('HGET', E, 'capacity') or 0) end

-- `far_end` is 'producer' or 'consumer'. One element is enough to end a blocking pop.
local function wake_up(far_end)
  local list = E .. ':wake:' .. far_end
  if redis.call('LLEN', list) == 0 then redis.call('RPUSH', list, '1') end
end

-- Only the message that ends the emptiness wakes: a consumer that knows of more goes on by itself.
local function push(lane, message)
  if redis.call('RPUSH', lane_key(lane), lane .. ' ' .. add('accepted') .. ' ' .. message) == 1 then
    wake_up('consumer')
  end
end

-- The producer knows the edge as full; the next room is worth a word to it.
local function note_full()
  redis.call('HSET', E, 'full', 1)
end

local function room_made()
  if redis.call('HDEL', E, 'full') == 1 then wake_up('producer') end
end

local function fits(lane, more)
  local depth = depth_of(lane)
  return more == 0 or depth == 0 or depth + more <= capacity()
end

-- A put whose answer was lost is sent again under the same token, and must not happen twice.
local function answered_before(token)
  local last = redis.call('HMGET', E, 'last_put', 'last_result')
  return last[1] == token and last[2]
end

local function conclude(token, result)
  redis.call('HSET', E, 'last_put', token, 'last_result', result)
  if depth_of('data') >= capacity() or depth_of('control') >= capacity() then note_full() end
end

local function give_back(consumer)
  local held = redis.call('ZREVRANGE', held_key(consumer), 0, -1)
  for _, entry in ipairs(held) do
    redis.call('LPUSH', lane_key(string.match(entry, '^%a+')), entry)
  end
  if #held > 0 then
    add('taken', -#held)
    add('returned', #held)
    wake_up('consumer')
  end
  redis.call('DEL', held_key(consumer))
  redis.call('ZREM', E .. ':consumers', consumer)
end

local function hold_on(consumer, lease)
  redis.call('ZADD', E .. ':consumers', int(NOW + tonumber(lease)), consumer)
end

-- What every edge script answers: a result, the state of the edge, and what the script adds.
local function answer(result, more)
  local books = redis.call('HMGET', E, 'accepted', 'taken', 'dropped', 'replaced', 'coalesced', 'blocked')
  for i = 1, #books do books[i] = tonumber(books[i] or 0) end
  return { result, capacity(), depth_of('control'), depth_of('data'), books, more or {} }
end

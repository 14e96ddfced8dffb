-- @include walk
-- What operators hold back and let go.
-- Something about holding it back has changed.
local function reconsider(id)
  local state = redis.call('HGET', job_key(id), 'state')
  if state == 'ready' then
    rank_again(id)
  elseif state == 'held' and not facts_of(id).held then
    redis.call('ZREM', P .. 'held', id)
    make_ready(id, 'held')
  end
end

local function sweep_reconsider(item)
  each_job(item, reconsider)
end

-- All that is held, whatever for. From the end to the beginning: what leaves the set in between moves the rest only to
-- where it is still looked at, and what joins it has been looked at.
local function sweep_held(item)
  local from = math.max(0, item[4] - BUDGET)
  if item[4] == 0 then return end
  for _, id in ipairs(redis.call('ZRANGE', P .. 'held', from, item[4] - 1)) do reconsider(id) end
  if from > 0 then redis.call('LPUSH', P .. 'advance', 'held - - ' .. int(from)) end
end

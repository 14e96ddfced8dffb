-- @include settle
local function set_lane_aside(kind, lane)
  local current, aside = P .. kind .. lane, P .. 'stale:' .. kind .. lane
  local size = redis.call('ZCARD', current)
  if size == 0 then return 0 end
  if redis.call('EXISTS', aside) == 1 then
    redis.call('ZUNIONSTORE', aside, 2, aside, current)
    redis.call('UNLINK', current)
  else
    redis.call('RENAME', current, aside)
  end
  redis.call('RPUSH', P .. 'advance', 'stale ' .. kind .. lane .. ' - 0')
  return size
end

-- Takes all ready jobs of an executor out of their places at once; they come back piece by piece, the best of before
-- first, each with its present rank. Returns how many there are.
local function set_aside(executor)
  local waiting = 0
  for _, lane in ipairs(lanes_of(executor)) do
    for _, kind in ipairs({ 'ready:', 'new:' }) do
      waiting = waiting + set_lane_aside(kind, lane)
    end
  end
  return waiting
end

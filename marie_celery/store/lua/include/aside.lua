-- @include settle
-- Takes all ready jobs of an executor out of their places at once; they come back piece by piece, the best of before
-- first, each with its present rank. Returns how many there are.
local function set_aside(executor)
  local waiting = 0
  for _, kind in ipairs({ 'ready:', 'new:' }) do
    local current, aside = P .. kind .. executor, P .. 'stale:' .. kind .. executor
    local size = redis.call('ZCARD', current)
    waiting = waiting + size
    if size > 0 then
      if redis.call('EXISTS', aside) == 1 then
        redis.call('ZUNIONSTORE', aside, 2, aside, current)
        redis.call('UNLINK', current)
      else
        redis.call('RENAME', current, aside)
      end
      redis.call('RPUSH', P .. 'advance', 'stale ' .. kind .. executor .. ' - 0')
    end
  end
  return waiting
end

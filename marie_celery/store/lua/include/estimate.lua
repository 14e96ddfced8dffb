-- @include facts
-- How long a task takes, learned: `estimates` maps task → "count centre spread". Mirrors planning/estimates.py.
local function observe_runtime(task, ms)
  local seen = math.log(math.max(1, ms))
  local count, centre, spread = 0, 0, 0.5
  local text = redis.call('HGET', P .. 'estimates', task)
  if text then
    local a, b, c = string.match(text, '^(%d+) (%S+) (%S+)$')
    count, centre, spread = tonumber(a), tonumber(b), tonumber(c)
  end
  if count == 0 then
    centre = seen
  else
    local weight = math.max(0.1, 1 / (count + 1))
    local reach = 3 * math.max(0.1, spread)
    local distance = seen - centre
    centre = centre + weight * math.max(-reach, math.min(reach, distance))
    spread = spread + weight * (math.min(2 * reach, math.abs(distance)) - spread)
  end
  redis.call('HSET', P .. 'estimates', task, string.format('%d %.17g %.17g', count + 1, centre, spread))
  learned[task] = runtime_of(centre)
end

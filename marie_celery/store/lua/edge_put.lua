-- Puts messages into an edge, all or none; on a lossy edge each as its policy says.
--   ARGV[3]  edge   ARGV[4]  policy; here `coalesce` is as `block`, merging is for edge_merge
--   ARGV[5]  token of this put
--   ARGV[6]  '1' to put, '0' to ask only whether it could be done
--   ARGV[7]  '1' if a refusal is the last word: it is counted, and room will wake the producer
--   then     n × (lane, message)                       from ARGV[8]
-- Returns { 'ok' | 'blocked' | 'dropped' | 'replaced' | 'unknown', state of the edge … } as include/edge.lua tells.
-- @include edge

local policy, token, commits, is_final = ARGV[4], ARGV[5], ARGV[6] == '1', ARGV[7] == '1'
if capacity() == 0 then return answer('unknown') end
local known = commits and answered_before(token)
if known then return answer(known) end

local more = { control = 0, data = 0 }
for i = 8, #ARGV, 2 do more[ARGV[i]] = more[ARGV[i]] + 1 end
local is_lossy = policy == 'drop' or policy == 'latest'
local data_fits = is_lossy or fits('data', more.data)
-- A group that is larger than the edge enters as it is only if it cannot be merged.
if policy == 'coalesce' and depth_of('data') + more.data > capacity() and more.data > 0 then data_fits = false end
if not (fits('control', more.control) and data_fits) then
  if is_final then
    if commits then add('blocked') end
    note_full()
  end
  return answer('blocked')
end
if not commits then return answer('ok') end

local result, bound = 'ok', capacity()
for i = 8, #ARGV, 2 do
  local lane, message = ARGV[i], ARGV[i + 1]
  if lane == 'data' and is_lossy and depth_of('data') >= bound then
    if policy == 'drop' then
      result = 'dropped'
      add('dropped')
    else
      result = 'replaced'
      for _ = bound, depth_of('data') do
        redis.call('LPOP', lane_key('data'))
        add('replaced')
      end
      push(lane, message)
    end
  else
    push(lane, message)
  end
end
conclude(token, result)
return answer(result)

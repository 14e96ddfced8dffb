-- Puts messages into a full edge that merges. The client merged them on what it saw; if the newest message has
-- changed since, nothing happens and the client looks again.
--   ARGV[3]  edge   ARGV[4]  token of this put
--   ARGV[5]  mark of the newest message, as edge_look gave it
--   ARGV[6]  '1' to put, '0' to ask only whether it could be done
--   ARGV[7]  how many were merged, '' if they cannot be
--   ARGV[8]  what the newest message becomes, '' if it stays
--   then     n × (lane, message) to append             from ARGV[9]
-- Returns { 'ok' | 'coalesced' | 'blocked' | 'changed' | 'unknown', state of the edge … }
-- as include/edge.lua tells.
-- @include edge

local token, mark, commits, merged, newest = ARGV[4], ARGV[5], ARGV[6] == '1', ARGV[7], ARGV[8]
if capacity() == 0 then return answer('unknown') end
local known = commits and answered_before(token)
if known then return answer(known) end

local tail = redis.call('LINDEX', lane_key('data'), -1)
local found = tail and number_in(tail) .. '.' .. (redis.call('HGET', E, 'coalesced') or '0') or ''
if found ~= mark then return answer('changed') end

local control = 0
for i = 9, #ARGV, 2 do
  if ARGV[i] == 'control' then control = control + 1 end
end
if merged == '' or not fits('control', control) then
  if commits then add('blocked') end
  note_full()
  return answer('blocked')
end
if not commits then return answer('ok') end

if newest ~= '' then
  redis.call('LSET', lane_key('data'), -1, 'data ' .. number_in(tail) .. ' ' .. newest)
end
for i = 9, #ARGV, 2 do push(ARGV[i], ARGV[i + 1]) end
local result = 'ok'
if merged ~= '0' then
  result = 'coalesced'
  add('coalesced', merged)
end
conclude(token, result)
return answer(result)

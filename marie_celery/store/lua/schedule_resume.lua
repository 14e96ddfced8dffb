-- Goes on with a slot that was taken: one whose scheduler has died, or the first that waits and may go.
--   ARGV[3]  name   ARGV[4]  allow | skip | queue | replace   ARGV[5]  milliseconds of the lease
-- Returns { OK, slot } | { NOT_READY }.
-- Events: with replace, the cancelling of the last run.
-- @include slot
-- @generate codes

local name, overlap = ARGV[3], ARGV[4]
local state = redis.call('HMGET', schedule_state(name), 'firing', 'lease')
local slot
if state[2] then
  if tonumber(state[2]) <= NOW then slot = state[1] end
elseif overlap == 'allow' or overlap == 'replace' or not still_going(name) then
  slot = redis.call('LPOP', schedule_waiting(name))
end
if slot then begin_firing(name, slot, overlap, ARGV[5]) end
look_again(name)
return slot and { OK, slot } or { NOT_READY }

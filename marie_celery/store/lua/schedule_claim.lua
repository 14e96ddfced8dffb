-- Takes a slot off the calendar: exactly one of those who try gets it.
--   ARGV[3]  name   ARGV[4]  version of the definition that the slots were reckoned by
--   ARGV[5]  the slot that is due   ARGV[6]  the slot to fire: the same, a later one, or '' = all that was due is left out
--   ARGV[7]  the slot after it, '' = none   ARGV[8]  when that is due
--   ARGV[9]  allow | skip | queue | replace   ARGV[10]  milliseconds of the lease   ARGV[11]  how many slots may wait
-- Returns { OK, 'fire' | 'skipped' | 'queued' | 'missed' } | { STALE } if it was taken, or the definition has changed, or
-- another slot is being fired.
-- Events: schedule due → missed | skipped | queued; with replace, the cancelling of the last run.
-- @include slot
-- @generate codes

local name, due, slot, overlap = ARGV[3], ARGV[5], ARGV[6], ARGV[9]
local definition = redis.call('HGET', P .. 'schedules', name)
if not definition or cjson.decode(definition).version ~= tonumber(ARGV[4]) then return { STALE } end
local state = redis.call('HMGET', schedule_state(name), 'next', 'lease')
if state[1] ~= due or state[2] then return { STALE } end

set_next(name, ARGV[7], ARGV[8])
if slot ~= due then event('schedule', name, 'due', 'missed', slot == '' and due or due .. ' until ' .. slot) end

local function decide()
  if slot == '' then return 'missed' end
  redis.call('HSET', schedule_state(name), 'last', slot)
  local waiting = redis.call('LLEN', schedule_waiting(name))
  if (overlap == 'skip' or overlap == 'queue') and (waiting > 0 or still_going(name)) then
    if overlap == 'skip' or waiting >= tonumber(ARGV[11]) then return 'skipped' end
    redis.call('RPUSH', schedule_waiting(name), slot)
    return 'queued'
  end
  begin_firing(name, slot, overlap, ARGV[10])
  return 'fire'
end

local outcome = decide()
look_again(name)
if outcome == 'skipped' or outcome == 'queued' then event('schedule', name, 'due', outcome, slot) end
return { OK, outcome }

-- Notes SLAs that were missed: one event for the run, one for each of its jobs that has not ended, never two.
--   ARGV[3]  how many at most   ARGV[4]  'escalate' | 'expire', for runs and jobs that say neither
-- Returns { missed, milliseconds until the next or -1 }.
-- Events: run | job <state> → sla.soft_missed | sla.hard_missed; with expire: job … → expired.
-- @include missed

local due = redis.call('ZRANGEBYSCORE', P .. 'sla', '-inf', int(NOW - 1), 'LIMIT', 0, ARGV[3])
local missed = 0

local function note(id, key, kind, state, expires)
  if redis.call('HSETNX', key, kind .. '_missed', int(NOW)) == 0 then return end
  missed = missed + 1
  count('run' .. string.upper(string.sub(kind, 1, 1)) .. string.sub(kind, 2) .. 'SlaMissed')
  event('run', id, state, 'sla.' .. kind .. '_missed')
  redis.call('RPUSH', P .. 'alerts', cjson.encode({ kind = 'sla.' .. kind .. '_missed', run = id, at = NOW }))
  redis.call('LTRIM', P .. 'alerts', -1000, -1)
  redis.call('RPUSH', P .. 'advance', piece('missed', id, expires and 'expire' or kind, 0))
end

local function look(id)
  redis.call('ZREM', P .. 'sla', id)
  local is_run = #id == 13
  local key = is_run and run_key(id) or job_key(id)
  local found = redis.call('HMGET', key, 'state', 'soft', 'hard', 'on_hard', 'ended_at')
  local state, soft, hard = found[1], tonumber(found[2]), tonumber(found[3])
  if not state or found[5] or (not is_run and not WAITS[state]) then return end
  local of_run = redis.call('HMGET', run_key(run_of(id)), 'state', 'on_hard')
  -- Nobody knows of it yet, and its jobs are not counted yet.
  if of_run[1] == 'staging' then
    redis.call('ZADD', P .. 'sla', int(NOW + 1000), id)
    return
  end
  if hard and NOW <= hard then redis.call('ZADD', P .. 'sla', int(hard), id) end
  local expires = (found[4] or of_run[2] or ARGV[4]) == 'expire'
  for _, kind in ipairs({ 'soft', 'hard' }) do
    local moment = kind == 'soft' and soft or kind == 'hard' and hard
    if moment and NOW > moment then
      if is_run then
        note(id, key, kind, state, kind == 'hard' and expires)
      else
        missed = missed + 1
        miss(id, kind == 'hard' and expires and 'expire' or kind)
      end
    end
  end
  wake()
end

for _, id in ipairs(due) do look(id) end
settle()
local next = redis.call('ZRANGE', P .. 'sla', 0, 0, 'WITHSCORES')
return { missed, next[2] and math.max(0, tonumber(next[2]) + 1 - NOW) or -1 }

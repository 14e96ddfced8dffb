-- Changes the priority or the SLAs of a run or a job that has not ended. Holds for the next choice.
--   ARGV[3]  'run' | 'job'   ARGV[4]  id   ARGV[5]  by whom
--   ARGV[6]  priority or ''  ARGV[7]  soft  ARGV[8]  hard: '' = as it is, '-' = none, '+n' = n ms from now, n = moment
-- Returns { OK } | { UNKNOWN } | { ENDED, state } | { STALE } if the hard SLA would be before the soft one.
-- Events: run | job <state> → reprioritised.
-- @include changing
-- @generate codes

local kind, id, by = ARGV[3], ARGV[4], ARGV[5]
local key = kind == 'run' and run_key(id) or job_key(id)
local found = redis.call('HMGET', key, 'state', 'ended_at', 'soft', 'hard')
local state = found[1]
if not state or redis.call('HGET', run_key(run_of(id)), 'state') == 'staging' then return { UNKNOWN } end
if found[2] or (kind == 'job' and not WAITS[state]) then return { ENDED, state } end

local function moment(text, present)
  if text == '' then return tonumber(present) end
  if text == '-' then return nil end
  local delay = string.match(text, '^%+(%d+)$')
  return delay and NOW + tonumber(delay) or tonumber(text)
end
local soft, hard = moment(ARGV[7], found[3]), moment(ARGV[8], found[4])
if soft and hard and hard < soft then return { STALE } end

local changes = {}
if ARGV[6] ~= '' then changes[1] = 'priority=' .. ARGV[6] end
if ARGV[7] ~= '' or ARGV[8] ~= '' then
  changes[#changes + 1] = 'soft=' .. (soft and int(soft) or '')
  changes[#changes + 1] = 'hard=' .. (hard and int(hard) or '')
  if kind == 'job' then redis.call('HSET', key, 'sla', '1') end
  local first = earliest(soft, hard)
  if first then redis.call('ZADD', P .. 'sla', int(first), id) else redis.call('ZREM', P .. 'sla', id) end
end
if #changes == 0 then return { OK } end
local detail = table.concat(changes, ',')
event(kind, id, state, 'reprioritised', detail, by)
if kind == 'job' then
  change_job(id, detail)
else
  set_fields(key, detail)
  sweep_fields({ 'fields', id, detail, 0 })
end
wake()
return { OK }

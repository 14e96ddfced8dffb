-- Runs jobs of an ended run again. The instructions come in chunks that nobody sees; the last call puts the run back to
-- work, and the jobs are reset piece by piece from there, durable.
--   ARGV[3]  run   ARGV[4]  '1' if this is the last call   ARGV[5]  jobs in all   ARGV[6]  by whom
--   ARGV[7]  number of this replay among the run's, so that two cannot mix
--   then     instructions as in include/again.lua
-- Returns { OK } | { UNKNOWN } | { NOT_READY, state } if it has not ended | { GONE } if another replay came first |
-- { WAITING, run } if another run has to end before this one may be under way.
-- Events: run <state> → active; job … → created, ready.
-- @include again
-- @generate codes

local run, last = ARGV[3], ARGV[4] == '1'
local key = run_key(run)
local found = redis.call('HMGET', key, 'state', 'ended_at', 'started_at', 'replays', 'soft', 'hard',
  'highlander')
if not found[1] or found[1] == 'staging' then return { UNKNOWN } end
if not found[2] then return { NOT_READY, found[1] } end
if (found[4] or '0') ~= ARGV[7] then return { GONE } end

local running = found[7] and redis.call('HGET', field_of(found[7]), 'running')
if running then return { WAITING, running } end

local list = key .. ':replay'
for i = 8, #ARGV do redis.call('RPUSH', list, ARGV[i]) end
if not last then
  redis.call('PEXPIRE', list, 60000)
  return { OK }
end
if redis.call('LLEN', list) ~= tonumber(ARGV[5]) then
  redis.call('DEL', list)
  return { GONE }
end
redis.call('PERSIST', list)
local state = found[3] and 'active' or 'created'
redis.call('HDEL', key, 'ended_at', 'cancel', 'paused')
redis.call('HSET', key, 'state', state, 'left', ARGV[5])
redis.call('HINCRBY', key, 'replays', 1)
runs_seen[run] = nil
redis.call('DEL', key .. ':done')
redis.call('ZREM', P .. 'ended', run)
if found[3] then
  redis.call('ZADD', P .. 'active', found[3], run)
  if found[7] then take_the_field(found[7], run) end
end
-- Whoever replays knows that what has passed has passed: only an SLA to come can still be missed.
local function to_come(moment)
  moment = tonumber(moment)
  return moment and moment >= NOW and moment or nil
end
local due = earliest(to_come(found[5]), to_come(found[6]))
if due then redis.call('ZADD', P .. 'sla', int(due), run) end
event('run', run, found[1], state, 'replay', ARGV[6])
sweep_replay({ 'replay', run, '-', 0 })
settle()
wake()
return { OK }

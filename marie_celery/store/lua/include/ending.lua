-- @include supply
-- @include highlander
-- The end of a job, and the end of a run whose jobs have all ended. What follows for others is noted in `settling`.
local settling = {} -- @fresh
local end_job

local function end_run(run, key)
  save()
  local found = redis.call('HMGET', key, 'cancel', 'failed', 'expired', 'cancelled', 'state')
  local outcome = 'completed'
  if found[1] and found[1] ~= 'fail_fast' then outcome = 'cancelled'
  elseif tonumber(found[2] or 0) > 0 then outcome = 'failed'
  elseif tonumber(found[3] or 0) > 0 then outcome = 'expired'
  elseif tonumber(found[4] or 0) > 0 then outcome = 'cancelled' end
  redis.call('HSET', key, 'state', outcome, 'ended_at', NOW_TEXT)
  runs_seen[run] = nil
  redis.call('RPUSH', key .. ':done', outcome)
  redis.call('ZREM', P .. 'active', run)
  redis.call('ZADD', P .. 'ended', int(NOW), run)
  leave_the_field(run)
  -- A run may begin that had to wait for the end of another, wherever its jobs are.
  if planner().max_active_dags > 0 then wake() end
  event('run', run, found[5], outcome, found[1] or '')
end

-- When nothing is left but on_failure and finally, they run one after the other, also in a run that is cancelled.
local function call_the_last(run, key, left)
  save()
  local found = redis.call('HMGET', key, 'on_failure', 'finally', 'failed', 'expired', 'cancel')
  local waiting = {}
  for i = 1, 2 do
    local id = found[i] and job_id(run, found[i])
    if id and redis.call('HGET', job_key(id), 'state') == 'created' then waiting[#waiting + 1] = id end
  end
  if #waiting == 0 or #waiting ~= left then return end
  if found[5] then
    redis.call('HDEL', key, 'paused')
    runs_seen[run] = nil
  end
  local nothing_failed = tonumber(found[3] or 0) + tonumber(found[4] or 0) == 0
  if nothing_failed and found[1] and waiting[1] == job_id(run, found[1]) then
    end_job(waiting[1], 'created', 'skipped', 'nothing_failed')
  else
    make_ready(waiting[1], 'created')
  end
end

-- how: completed, skipped or failed, as the children see it. Nothing spreads in a run that is being cancelled.
function end_job(id, from, to, why, by)
  move(id, from, to, why, by)
  local run = run_of(id)
  local key = run_key(run)
  local left = redis.call('HINCRBY', key, 'left', -1)
  if left == 0 then
    end_run(run, key)
    return
  end
  if left <= 2 then call_the_last(run, key, left) end
  local how = to
  if to ~= 'completed' and (to ~= 'skipped' or why == 'upstream_failed') then how = 'failed' end
  settling[#settling + 1] = { 'spread', id, how, 0 }
end

-- Failed for good: to the dead letters.
local function bury(id, from, reason, by)
  redis.call('ZADD', P .. 'dead', int(NOW), id)
  end_job(id, from, 'failed', reason, by)
  local run = run_of(id)
  local fail_fast = redis.call('HMGET', run_key(run), 'fail_fast', 'ended_at', 'cancel')
  if fail_fast[1] and not fail_fast[2] and not fail_fast[3] then
    redis.call('RPUSH', P .. 'advance', piece('fail_fast', run, '-', 0))
    wake()
  end
end

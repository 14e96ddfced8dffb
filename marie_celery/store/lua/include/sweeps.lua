-- @include holding
-- @include changing
-- @include missed
-- @include again
-- Every kind of work that goes on piece by piece.
local function sweep_stale(item)
  local aside = P .. 'stale:' .. item[2]
  local ids = redis.call('ZRANGE', aside, 0, BUDGET - 1)
  for _, id in ipairs(ids) do
    redis.call('ZREM', aside, id)
    put_in_place(id)
  end
  if #ids == BUDGET then redis.call('LPUSH', P .. 'advance', table.concat(item, ' ')) end
  wake()
end

-- All that stand in a line find their place anew.
local function sweep_short(item)
  local ids = redis.call('ZRANGE', short_key(item[2]), 0, BUDGET - 1)
  for _, id in ipairs(ids) do
    leave_lines(id)
    put_in_place(id)
  end
  if #ids == BUDGET then redis.call('LPUSH', P .. 'advance', table.concat(item, ' ')) end
  wake()
end

local function delete_run(item)
  local run = item[2]
  local key = run_key(run)
  local pending = redis.call('LLEN', P .. 'advance')
  each_job(item, function(id)
    redis.call('ZREM', P .. 'sla', id)
    redis.call('ZREM', P .. 'dead', id)
    redis.call('UNLINK', job_key(id))
  end)
  if redis.call('LLEN', P .. 'advance') > pending then return end
  redis.call('ZREM', P .. 'sla', run)
  redis.call('UNLINK', key, key .. ':inputs', key .. ':results', key .. ':errors', key .. ':specs', key .. ':done')
end

-- It may have ended, or somebody may have cancelled it, since the job failed.
local function fail_fast(item)
  local run = redis.call('HMGET', run_key(item[2]), 'state', 'ended_at', 'cancel')
  if run[1] and not run[2] and not run[3] then cancel_run(item[2], 'fail_fast') end
end

local SWEEPS = {
  cancel = sweep_run,
  fail_fast = fail_fast,
  delete = delete_run,
  stale = sweep_stale,
  short = sweep_short,
  fields = sweep_fields,
  reconsider = sweep_reconsider,
  held = sweep_held,
  replay = sweep_replay,
  missed = sweep_missed,
}

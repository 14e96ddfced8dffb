-- Goes on with one piece of work that an earlier call had to leave because of its bound.
-- Returns { pieces left }.
-- Events: those of the work.
-- @include settle
-- @include cancel

local function delete_run(item)
  local run = item[2]
  local key = run_key(run)
  local jobs = tonumber(redis.call('HGET', key, 'jobs') or 0)
  if jobs > 0 then
    local pending = redis.call('LLEN', P .. 'advance')
    visit_within_budget(item, '0-' .. int(jobs - 1), function(number)
      redis.call('UNLINK', job_key(job_id(run, number)))
    end)
    if redis.call('LLEN', P .. 'advance') > pending then return end
  end
  redis.call('UNLINK', key, key .. ':inputs', key .. ':results', key .. ':errors', key .. ':specs', key .. ':done')
end

local entry = redis.call('LPOP', P .. 'advance')
if not entry then return { 0 } end
local verb, id, how, position = string.match(entry, '^(%S+) (%S+) (%S+) (%d+)$')
local item = { verb, id, how, tonumber(position) }

if verb == 'spread' then
  settling[1] = item
elseif verb == 'roots' then
  settling[1] = item
elseif verb == 'cancel' then
  sweep_run(item)
elseif verb == 'fail_fast' then
  -- It may have ended, or somebody may have cancelled it, since the job failed.
  local run = redis.call('HMGET', run_key(id), 'state', 'ended_at', 'cancel')
  if run[1] and not run[2] and not run[3] then cancel_run(id, 'fail_fast') end
elseif verb == 'delete' then
  delete_run(item)
end
if verb == 'spread' or verb == 'roots' then settle() end

local left = redis.call('LLEN', P .. 'advance')
if left > 0 then wake() end
return { left }

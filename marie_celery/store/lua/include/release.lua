-- @include map
-- When the parents of a job let it go, or make it skip.
local release, consider, parent_ended
do
  -- Its parents let it go. A control job has nothing to run: most are done the moment they are ready.
  function release(id, control)
    if not control then
      make_ready(id, 'created')
      return
    end
    move(id, 'created', 'ready')
    if CONTROL[control] then CONTROL[control](id, control) else complete_control(id, 'ready', control) end
  end

  -- May it run, by what is known of its parents? Not while the branch that it hangs on, or the gate, is shut.
  function consider(id)
    local job = redis.call('HMGET', job_key(id), 'state', 'rule', 'parents', 'deps', 'skipped_parents',
      'failed_parents', 'control', 'shut')
    if job[1] ~= 'created' or job[8] then return end
    local verdict = job[3] and join_verdict(job[2] or 'all_success', tonumber(job[3]), tonumber(job[4]),
      tonumber(job[5] or 0), tonumber(job[6] or 0)) or 'run'
    if verdict == 'run' then
      release(id, job[7])
    elseif verdict == 'skip' then
      end_job(id, 'created', 'skipped', 'all_parents_skipped')
    elseif verdict == 'upstream_failed' then
      end_job(id, 'created', 'skipped', 'upstream_failed')
    end
  end

  local function is_optional(key, parent)
    local optional = redis.call('HGET', key, 'optional')
    return optional and each_number(optional, 0, function(number) return number ~= parent end) ~= nil
  end

  -- parent: its number. To a child that may do without it, it ended well, however it did.
  function parent_ended(id, how, parent)
    local key = job_key(id)
    redis.call('HINCRBY', key, 'deps', -1)
    if how ~= 'completed' and not is_optional(key, parent) then
      redis.call('HINCRBY', key, how .. '_parents', 1)
    end
    consider(id)
  end
end

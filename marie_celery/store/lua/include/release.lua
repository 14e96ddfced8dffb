-- @include map
-- When the parents of a job let it go, or make it skip.
local release, consider, parent_ended
do
  -- Its parents let it go. A control job has nothing to run: most are done the moment they are ready.
  function release(id, job)
    local control = job.control
    if not control then
      make_ready(id, 'created', nil, job)
      return
    end
    move(id, 'created', 'ready')
    if CONTROL[control] then CONTROL[control](id, control) else complete_control(id, 'ready', control) end
  end

  -- May it run, by what is known of its parents? Not while the branch that it hangs on, or the gate, is shut.
  function consider(id, job)
    job = job or placed[id] or facts_of(id)
    if job.state ~= 'created' or job.shut then return end
    local verdict = job.parents and join_verdict(job.rule or 'all_success', tonumber(job.parents), tonumber(job.deps),
      tonumber(job.skipped_parents or 0), tonumber(job.failed_parents or 0)) or 'run'
    if verdict == 'run' then
      release(id, job)
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

  -- It has no other parent, so there is nothing to count before it is read; with its state it is written that none is left.
  local function only_parent_completed(id, is_plain)
    local job = is_plain and at_hand and brief_facts_of(id) or facts_of(id)
    job.deps = '0'
    if job.state == 'created' and not job.shut and not job.control then
      job.unwritten = { 'deps', '0' }
    else
      redis.call('HSET', job_key(id), 'deps', '0')
    end
    consider(id, job)
  end

  -- parent: its number. behind: what is known of all its children: `next`, there is one that has no other parent and nothing
  -- special; `alone`, they have no other parent; `all`, they wait for all of theirs. To a child that may do without it, it
  -- ended well, however it did.
  function parent_ended(id, how, parent, behind)
    if how == 'completed' and (behind == 'next' or behind == 'alone') then
      only_parent_completed(id, behind == 'next')
      return
    end
    local key = job_key(id)
    local left = redis.call('HINCRBY', key, 'deps', -1)
    if how ~= 'completed' and not is_optional(key, parent) then
      redis.call('HINCRBY', key, how .. '_parents', 1)
    elseif left > 0 and how == 'completed'
      and (behind == 'all' or redis.call('HGET', key, 'rule') ~= 'one_success') then
      return
    end
    consider(id)
  end
end

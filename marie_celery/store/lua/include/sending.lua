-- @include choice
-- @include message
-- Free slots are filled in the step that has something for them, with messages as the schedulers have rendered them:
-- `messages` has those, <executor> <task> <time limit> <soft time limit> → key of the queue, a line's end, the template.
-- Without the message of a job it is left to a scheduler, who keeps it here for the next time.
local templates = {} -- @fresh
local keep_template, fill_or_wake
do
  local MOST_SENT = 16

  local function message_kind(job)
    return table.concat({ job.executor, job.task, job.time_limit or '-', job.soft_time_limit or '-' }, ' ')
  end

  function keep_template(job, template)
    local kind = message_kind(job)
    if templates[kind] then return end
    templates[kind] = template
    redis.call('HSETNX', P .. 'messages', kind, template[1] .. '\n' .. template[2])
  end

  local function template_for(job)
    local kind = message_kind(job)
    if templates[kind] == nil then
      local text = redis.call('HGET', P .. 'messages', kind)
      local cut = text and string.find(text, '\n', 1, true)
      templates[kind] = cut and { string.sub(text, 1, cut - 1), string.sub(text, cut + 1) } or false
    end
    return templates[kind]
  end

  -- True if something waits for a slot that is free: for a scheduler to see.
  local function fill(executor, lease)
    for _ = 1, MOST_SENT do
      if room_left(executor) <= 0 then return false end
      if not ranks_decide() then return true end
      local id, is_left = best_of(executor)
      if not id then return is_left end
      local job = facts_to_book(id, executor)
      local template = template_for(job)
      if not template then return true end
      local code, token = book(job, lease, dispatched, is_left)
      if code == OK then
        redis.call('LPUSH', template[1], message(template[2], id, token))
        settle()
      elseif code ~= SHORT and code ~= EXHAUSTED then
        return true
      end
    end
    return true
  end

  -- Whoever was to be woken for an executor is not, if its slots are filled here and nothing new is left waiting: of that
  -- a scheduler has to know when to rank it again. A limit over all executors may have kept any of them waiting.
  function fill_or_wake(executors, lease_ms)
    calls_for = nil
    local lease = int(NOW + lease_ms)
    for executor in pairs(executors) do
      if fill(executor, lease) then wake() end
    end
    put_down()
    if next(placed) or has_parked or (overall > 0 and overall < math.huge) then wake() end
  end
end

-- @include choice
-- @include begin
-- The relay: a slot that has just become free goes straight to the best job that waits for it, and the worker goes on with
-- that. Where the best job must go by a message of its own, nobody is chosen.
local take_next
do
  local TRIES = 10

  local function offers_slots(executor, worker)
    return tonumber(redis.call('HGET', executor_key(executor) .. ':workers', worker) or 0) > 0
  end

  local function needs_a_message(job)
    return job.time_limit or job.soft_time_limit or job.relay
  end

  -- Returns { job, token, what it needs to know … }, or nil.
  function take_next(executor, worker, message, lease)
    if not ranks_decide() or not offers_slots(executor, worker) or room_left(executor) <= 0 then return nil end
    local function taken(job, token) move_to_worker(job, worker, token) end
    for _ = 1, TRIES do
      local id, is_contested = best_of(executor)
      if not id then return nil end
      local job = facts_to_book(id, executor)
      if needs_a_message(job) then return nil end
      local code, token = book(job, int(NOW + lease), taken, is_contested)
      if code == OK then return { id, token, unpack(begin(job, token, worker, message)) } end
      if code ~= SHORT and code ~= EXHAUSTED then return nil end
    end
  end
end

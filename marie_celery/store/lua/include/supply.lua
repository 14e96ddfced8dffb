-- @include ready
-- @include slots
-- What becomes of a slot and of resources that are given back.
local supply, free_slot
do
  local AT_ONCE = 100

  local function look_again_at(line, left_some)
    local head = redis.call('ZRANGE', short_key(line), 0, 0)[1]
    if not head then
      redis.call('ZREM', P .. 'supply', line)
      return
    end
    local moment = left_some and NOW or NOW + LOOK_AGAIN_MS
    for _, need in ipairs(facts_of(head).needs) do
      local enough = need[1] == line and enough_at(line, need[2])
      if enough then
        note_due(line, enough)
        moment = math.min(moment, math.max(NOW + 1, enough))
      end
    end
    redis.call('ZADD', P .. 'supply', int(moment), line)
  end

  -- Is nobody to pass the first in this line?
  local function is_in_order(line, executor)
    local name = string.match(line, '^([^@/]+)')
    return not name or shortage_mode(name, executor) == 'hold'
  end

  -- What it lacks now may be something else than before: whoever waits for that must not keep this from others.
  local function stand_in_lines(id, executor, score, refused)
    if redis.call('HGET', job_key(id), 'short') == lines_of(refused) then return end
    leave_lines(id)
    park(id, executor, score, refused)
  end

  local function promise(promised, needs)
    for _, need in ipairs(needs) do
      local line = line_of(need[1], need[3])
      promised[line] = (promised[line] or 0) + need[2]
    end
  end

  -- Lets those go who stand in a line and now find what they need, the best first.
  function supply(line)
    local promised, offered = {}, redis.call('ZRANGE', short_key(line), 0, AT_ONCE - 1, 'WITHSCORES')
    local went = 0
    for i = 1, #offered, 2 do
      local id, score = offered[i], tonumber(offered[i + 1])
      local job, executor = facts_of(id)
      local refused = worth_a_line(obstacles(id, executor, job, score, promised))
      if #refused == 0 then
        leave_lines(id)
        put_in_place(id)
        if redis.call('HEXISTS', job_key(id), 'short') == 0 then
          promise(promised, job.needs)
          wake(executor)
          went = went + 1
        end
      else
        stand_in_lines(id, executor, score, refused)
        if redis.call('ZSCORE', short_key(line), id) and is_in_order(line, executor) then break end
      end
    end
    look_again_at(line, went == AT_ONCE)
  end

  local function release_resources(attempt)
    local text = redis.call('HGET', P .. 'bookings', attempt)
    if not text then return end
    redis.call('HDEL', P .. 'bookings', attempt)
    for _, booked in ipairs(cjson.decode(text)) do
      local line = give_back(booked[1], attempt)
      if line then supply(line) end
    end
  end

  -- needs: those of the job where they are known, false if it has none.
  function free_slot(executor, worker, attempt, needs)
    redis.call('ZREM', slots_key(executor), attempt)
    if worker and worker ~= '' then
      redis.call('HDEL', worker_key(worker) .. ':jobs', attempt)
    end
    if needs ~= false then release_resources(attempt) end
    settle_charge(executor, attempt)
  end
end

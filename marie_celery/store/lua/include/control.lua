-- @include ending
-- @include branch
-- How branches decide, and what their paths give. Results are put together from texts, never decoded.
local CONTROL, fail_control, complete_control
do
  function fail_control(id, from, kind, message)
    local text = cjson.encode({ type = kind, message = message })
    redis.call('HSET', run_key(run_of(id)) .. ':errors', number_of(id), text)
    bury(id, from, 'failed')
  end

  function complete_control(id, from, why, result)
    if result then redis.call('HSET', run_key(run_of(id)) .. ':results', number_of(id), result) end
    end_job(id, from, 'completed', why)
  end

  -- what: { number of a job, part … }
  local function result_part(run, what)
    local text = redis.call('HGET', run_key(run) .. ':results', int(what[1])) or 'null'
    local found = part_of(text, what, 2)
    if found then return found end
    local name = redis.call('HGET', job_key(job_id(run, what[1])), 'name')
    return nil, "the result of '" .. name .. "' has no part " .. cjson.encode({ unpack(what, 2) })
  end

  -- Kind of control job → what it does when its parents let it go. Those that are missing do nothing.
  CONTROL = {}

  local function take_paths(id, control)
    local job = redis.call('HMGET', job_key(id), 'on', 'paths')
    local names, taken = {}, {}
    for place, path in ipairs(cjson.decode(job[2])) do names[place] = path[1] end
    local text, problem = result_part(run_of(id), cjson.decode(job[1]))
    if text then taken, problem = TAKE[control](text, names) end
    if problem then
      fail_control(id, 'ready', 'BranchError', problem)
      return
    end
    redis.call('HSET', job_key(id), 'taken', table.concat(taken, ' '))
    for i, place in ipairs(taken) do taken[i] = names[place] end
    complete_control(id, 'ready', 'took ' .. (#taken > 0 and table.concat(taken, ', ') or 'no path'))
  end

  CONTROL.branch, CONTROL.switch, CONTROL.choose = take_paths, take_paths, take_paths

  -- Pieces are text as it stands, and { number, part … } where a result has to go.
  local function put_together(run, pieces)
    for i, each in ipairs(pieces) do
      if type(each) == 'table' then
        local text, problem = result_part(run, each)
        if problem then return nil, problem end
        pieces[i] = text
      end
    end
    return table.concat(pieces)
  end

  -- What the paths taken give.
  function CONTROL.pick(id)
    local run = run_of(id)
    local job = redis.call('HMGET', job_key(id), 'branch', 'gives')
    local branch = redis.call('HMGET', job_key(job_id(run, job[1])), 'taken', 'control')
    local gives, given, problem = cjson.decode(job[2]), {}, nil
    for place in string.gmatch(branch[1] or '', '%d+') do
      local path = gives[tonumber(place)]
      local text, wrong = put_together(run, path[2])
      problem = problem or wrong
      given[#given + 1] = branch[2] == 'choose' and cjson.encode(path[1]) .. ':' .. (text or '') or text
    end
    if problem then
      fail_control(id, 'ready', 'BranchError', problem)
    elseif branch[2] == 'choose' then
      complete_control(id, 'ready', 'pick', '{' .. table.concat(given, ',') .. '}')
    else
      complete_control(id, 'ready', 'pick', given[1] or 'null')
    end
  end

  -- What a mapped dag returns for its item.
  function CONTROL.gather(id)
    local gives = cjson.decode(redis.call('HGET', job_key(id), 'gives'))
    local text, problem = put_together(run_of(id), gives[1][2])
    if problem then
      fail_control(id, 'ready', 'MapError', problem)
    else
      complete_control(id, 'ready', 'gather', text)
    end
  end

  -- The item that a mapped dag was made for: its inputs are the values.
  function CONTROL.item(id)
    local inputs = redis.call('HGET', run_key(run_of(id)) .. ':inputs', number_of(id))
    complete_control(id, 'ready', 'item', string.match(inputs, '^[^\n]*'))
  end
end

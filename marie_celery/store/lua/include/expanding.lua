-- @include settle
-- What it takes to make jobs for the items of a map.
-- @generate codes

-- All fields of a map, if the caller may go on with it; else nil and the answer to give.
local function claimed_map(id, claim, before)
  local map, fields = {}, redis.call('HGETALL', job_key(id))
  for i = 1, #fields, 2 do map[fields[i]] = fields[i + 1] end
  if map.state ~= 'active' or redis.call('HEXISTS', run_key(run_of(id)), 'cancel') == 1 then
    redis.call('ZREM', P .. 'expand', id)
    return nil, { ENDED }
  end
  if map.claim ~= claim or tonumber(map.made or 0) ~= before then return nil, { STALE } end
  return map
end

-- Room for so many jobs more; true if there is.
local MOST_JOBS = 1000000
local function grow(id, first, jobs)
  local run = run_key(run_of(id))
  if first + jobs > MOST_JOBS then
    redis.call('ZREM', P .. 'expand', id)
    fail_control(id, 'active', 'MapError', 'the run would have more than ' .. MOST_JOBS .. ' jobs')
    return false
  end
  if jobs > 0 then
    redis.call('HSET', run, 'jobs', int(first + jobs), 'grown', '1')
    redis.call('HINCRBY', run, 'left', jobs)
    count_job(run_of(id), 'created', jobs)
  end
  return true
end

-- numbers: of the jobs whose results make the list. It happens before any of them can end.
local function note_items(id, map, total, made, numbers)
  local key = job_key(id)
  if not map.items then
    redis.call('HSET', key, 'items', int(total), 'items_left', int(total), 'items_failed', '0', 'reason', '')
  end
  redis.call('HSET', key, 'made', int(made))
  if numbers ~= '' then
    redis.call('HSET', key, 'numbers', (map.numbers and map.numbers .. ' ' or '') .. numbers)
  end
end

local function go_on_or_close(id, total, made, lease_ms)
  if made < total then
    redis.call('ZADD', P .. 'expand', int(NOW + tonumber(lease_ms)), id)
  else
    redis.call('ZREM', P .. 'expand', id)
    if total == 0 then close_map(id) end
  end
  settle()
end

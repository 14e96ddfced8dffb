-- @include ready
-- What stands in the way of a ready job beside a slot, in the words of why/snapshot.py. Changes nothing.

local function kept_for(name, line, id, executor, score)
  if not is_kept_from(name, line, id, executor, score) then return '', '' end
  local head = passes(line, id, score)
  return head, redis.call('HGET', job_key(head), 'name') or ''
end

-- The first who have some of it; under a key those of that key.
local function holders_of_need(name, key, most)
  local found = {}
  local holders = redis.call('HGETALL', resource_key(name) .. ':holders')
  for i = 1, math.min(#holders, 2 * BUDGET), 2 do
    if #found == most then break end
    if not BY_KEY[kind_of(name)] or cjson.decode(holders[i + 1])[2] == key then
      local worker = redis.call('HGET', job_key(string.match(holders[i], '^(.+)%.%d+$')), 'worker') or ''
      found[#found + 1] = { holders[i], holders[i + 1], worker }
    end
  end
  return found
end

-- nil if it has nothing to wait for here.
local function shortage(id, executor, need, score, most)
  local name, amount, key = need[1], need[2], need[3]
  local line = line_of(name, key)
  local place = redis.call('ZRANK', short_key(line), id)
  local left = available(name, key, id)
  local other, other_name = kept_for(name, line, id, executor, score)
  if left >= amount and other == '' and not place then return nil end
  local size = redis.call('HGET', resource_key(name), 'size') or ''
  local enough = size ~= '' and left < amount and enough_at(name, amount)
  return {
    name, kind_of(name) or '', key, amount, left, size, shortage_mode(name, executor),
    place and place + 1 or 0, redis.call('ZCARD', short_key(line)), other, other_name, enough and int(enough) or '',
    holders_of_need(name, key, most),
  }
end

local function shortages_of(id, most)
  local found = {}
  local job, executor = facts_of(id)
  for _, need in ipairs(job.needs) do
    found[#found + 1] = shortage(id, executor, need, rank(job), most)
  end
  return found
end

-- The name under which only one run may be under way, and which one is, if it is another.
local function rival_of(run)
  local times = facts_of_run(run)
  if times.activated or not times.highlander then return '', '' end
  local running = redis.call('HGET', P .. 'highlander:' .. times.highlander, 'running')
  return times.highlander, running and running ~= run and running or ''
end

-- A tenant among those with jobs on offer: its weight, that of all, its place by what they have had, how many they are.
local function standing_of(executor, tenant)
  local sharing = is_shared(executor) and redis.call('ZRANGE', tenants_key(executor), 0, BUDGET - 1) or {}
  local all, place = 0, 0
  for i, each in ipairs(sharing) do
    all = all + weight_of(each)
    if each == (tenant or NOBODY) then place = i end
  end
  return { weight_of(tenant or NOBODY), all, place, #sharing }
end

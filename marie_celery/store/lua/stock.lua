-- One consistent look at resources: how much there is, who has it, who waits for it. Changes nothing.
--   ARGV[3]  name, '' = all of them   ARGV[4]  how many holders, and how many of each line, are named
-- Returns { n × { name, definition, { key, units in use … }, { item … }, { free item … }, { leaving item … },
-- nano-tokens of a rate or '', how many holders, { n × { attempt, amount with key and items, worker } },
-- { n × { line, how many wait, { n × { job, name, executor, needs } } } } } }. Of very many lines the first are told.
-- @include resources

local most = tonumber(ARGV[4])

local lines = {}
for _, line in ipairs(redis.call('ZRANGE', P .. 'supply', 0, BUDGET - 1)) do
  local name = string.match(line, '^([^@/]+)')
  if name then
    lines[name] = lines[name] or {}
    table.insert(lines[name], line)
  end
end

local function waiters_of(line)
  local first = {}
  for i, id in ipairs(most > 0 and redis.call('ZRANGE', short_key(line), 0, most - 1) or {}) do
    first[i] = { id, unpack(redis.call('HMGET', job_key(id), 'name', 'executor', 'needs'), 1, 3) }
  end
  return { line, redis.call('ZCARD', short_key(line)), first }
end

local function lines_for(name)
  local found = {}
  for _, line in ipairs(lines[name] or {}) do
    if redis.call('EXISTS', short_key(line)) == 1 then found[#found + 1] = waiters_of(line) end
  end
  return found
end

local function holders_of(name)
  local attempts = most > 0 and redis.call('HKEYS', resource_key(name) .. ':holders') or {}
  table.sort(attempts)
  local found = {}
  for i = 1, math.min(most, #attempts) do
    local attempt = attempts[i]
    found[i] = {
      attempt,
      redis.call('HGET', resource_key(name) .. ':holders', attempt),
      redis.call('HGET', job_key(string.match(attempt, '^(.+)%.%d+$')), 'worker') or '',
    }
  end
  return found
end

local function look_at(name, definition)
  local at = resource_key(name)
  return {
    name,
    definition,
    redis.call('HGETALL', at .. ':used'),
    redis.call('ZRANGE', at .. ':items', 0, -1),
    redis.call('ZRANGE', at .. ':free', 0, -1),
    redis.call('SMEMBERS', at .. ':leaving'),
    kind_of(name) == 'rate' and int(bucket_of(name).level) or '',
    redis.call('HLEN', at .. ':holders'),
    holders_of(name),
    lines_for(name),
  }
end

local answer = {}
local defined = ARGV[3] == '' and redis.call('HGETALL', P .. 'resources')
  or { ARGV[3], redis.call('HGET', P .. 'resources', ARGV[3]) }
for i = 1, #defined, 2 do
  if defined[i + 1] then answer[#answer + 1] = look_at(defined[i], defined[i + 1]) end
end
return answer

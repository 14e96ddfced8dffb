-- What the manager of the user's own of a resource has to decide. Changes nothing.
--   ARGV[3]  name   ARGV[4]  how many of its line at most
-- Returns { now, version, state or '', { attempt that gave something back … }, { grant that nobody waits with any more … },
-- { n × { attempt, needs, how often it was passed, 'hold' | 'skip' } } }.
-- @include resources

local name = ARGV[3]
local at = resource_key(name)

local function is_waited_with(attempt)
  local id = string.match(attempt, '^(.+)%.%d+$')
  return redis.call('HGET', job_key(id), 'state') == 'ready' and next_attempt(id) == attempt
end

local forgotten = {}
for _, attempt in ipairs(redis.call('HKEYS', at .. ':grants')) do
  if not is_waited_with(attempt) then forgotten[#forgotten + 1] = attempt end
end

local line = {}
for i, id in ipairs(redis.call('ZRANGE', short_key(name), 0, tonumber(ARGV[4]) - 1)) do
  local job = redis.call('HMGET', job_key(id), 'needs', 'skips', 'executor')
  line[i] = { next_attempt(id), job[1], tonumber(job[2] or 0), shortage_mode(name, job[3]) }
end
local decided = redis.call('HMGET', at .. ':state', 'version', 'state')
return {
  NOW, tonumber(decided[1] or 0), decided[2] or '', redis.call('LRANGE', at .. ':returned', 0, BUDGET - 1), forgotten, line,
}

-- Writes what the manager of the user's own of a resource has decided, unless somebody else has done so since it was asked.
-- Those who have a grant leave its line; their dispatch books it.
--   ARGV[3]  name   ARGV[4]  version that was decided upon   ARGV[5]  the manager's state as JSON
--   ARGV[6]  how many of those that gave something back it knows of   ARGV[7]  when to ask again, '' = nobody knows
--   ARGV[8]  attempt that was passed, ''   ARGV[9]  how often
--   then     n, n × forgotten grant; n, n × (attempt, items)
-- Returns { OK, how many have left the line } | { STALE }: nothing was done.
-- @include ready
-- @generate codes

local name, at = ARGV[3], 10
local key = resource_key(name)
local function take()
  at = at + 1
  return ARGV[at - 1]
end
local function job_of(attempt) return string.match(attempt, '^(.+)%.%d+$') end

if (redis.call('HGET', key .. ':state', 'version') or '0') ~= ARGV[4] then return { STALE } end
redis.call('HSET', key .. ':state', 'version', int(tonumber(ARGV[4]) + 1), 'state', ARGV[5])
redis.call('LTRIM', key .. ':returned', ARGV[6], -1)
if ARGV[8] ~= '' then redis.call('HINCRBY', job_key(job_of(ARGV[8])), 'skips', ARGV[9]) end

for _ = 1, tonumber(take()) do redis.call('HDEL', key .. ':grants', take()) end

local went = 0
for _ = 1, tonumber(take()) do
  local attempt, items = take(), take()
  local id = job_of(attempt)
  if redis.call('ZSCORE', short_key(name), id) and next_attempt(id) == attempt then
    redis.call('HSET', key .. ':grants', attempt, items)
    leave_lines(id)
    put_in_place(id)
    wake()
    went = went + 1
  else
    redis.call('RPUSH', key .. ':returned', attempt)
  end
end
if ARGV[7] ~= '' and redis.call('EXISTS', short_key(name)) == 1 then
  redis.call('ZADD', P .. 'supply', 'LT', ARGV[7], name)
end
return { OK, went }

-- Makes the next jobs of a map of a dag: a graph for each item, the last job of which gives its result.
--   ARGV[3]  map   ARGV[4]  number of the claim   ARGV[5]  milliseconds until another may go on
--   ARGV[6]  items in all   ARGV[7]  how many were made before this call
--   ARGV[8]  number of the first job, as the caller has counted
--   ARGV[9]  jobs of a graph   ARGV[10]  items of this call
--   then     n × (inputs, m, m × (field, value))
-- Returns { OK, items made so far } | { STALE } if another has taken over | { ENDED } if the map has ended
-- | { NOT_READY, number } if the run has grown meanwhile: the first job is this one.
-- Events: job created → ready for those that wait for nothing; map active → completed if there is nothing to do.
-- @include expanding
-- @include slas

local id, total, before, size = ARGV[3], tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[9])
local map, refused = claimed_map(id, ARGV[4], before)
if refused then return refused end
local run = run_of(id)
local first = tonumber(redis.call('HGET', run_key(run), 'jobs'))
if first ~= tonumber(ARGV[8]) then return { NOT_READY, first } end
if not grow(id, first, size * tonumber(ARGV[10])) then
  settle()
  return { ENDED }
end

local at, number, ends, jobs = 11, first, {}, {}
while at <= #ARGV do
  local job, fields = job_id(run, number), tonumber(ARGV[at + 1])
  local key = job_key(job)
  redis.call('HSET', run_key(run) .. ':inputs', int(number), ARGV[at])
  redis.call('HSET', key, 'state', 'created', unpack(ARGV, at + 2, at + 1 + fields * 2))
  redis.call('HSETNX', key, 'priority', map.priority)
  redis.call('HINCRBY', key, 'level', map.level)
  settle_slas(key, job, { map.soft, map.hard })
  if (number - first) % size == size - 1 then
    redis.call('HSET', key, 'map', number_of(id), 'children', number_of(id))
    ends[#ends + 1] = int(number)
  end
  jobs[#jobs + 1] = job
  at, number = at + 2 + fields * 2, number + 1
end
if number > first then
  local within = (map.within and map.within .. ' ' or '') .. int(first) .. '-' .. int(number - 1)
  redis.call('HSET', job_key(id), 'within', within)
end
note_items(id, map, total, before + #ends, table.concat(ends, ' '))
for _, job in ipairs(jobs) do
  local found = facts_of(job)
  if found.state == 'created' and not found.deps and not found.shut then release(job, found) end
end
go_on_or_close(id, total, before + #ends, ARGV[5])
return { OK, before + #ends }

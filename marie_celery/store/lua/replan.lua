-- Puts another planner in force, for all schedulers at once. What is ready is set aside in one step and comes back, a
-- piece at a time and the best of before first, with its new rank; a job is in one of the sets at any moment.
--   ARGV[3]  by whom
--   ARGV[4]  n, then n × (field, value) of the planner
-- Returns { jobs to rank again }.
-- Events: planner <old> → <new>.
-- @include aside

local fields = tonumber(ARGV[4])
local key = P .. 'planner'
local before = redis.call('HGETALL', key)
local known, changed = {}, fields * 2 ~= #before
for i = 1, #before, 2 do known[before[i]] = before[i + 1] end
for i = 5, 4 + fields * 2, 2 do
  -- Who said it changes nothing about the ranks.
  changed = changed or (ARGV[i] ~= 'by' and known[ARGV[i]] ~= ARGV[i + 1])
end
if not changed then
  redis.call('HSET', key, unpack(ARGV, 5, 4 + fields * 2))
  return { 0 }
end

redis.call('DEL', key)
redis.call('HSET', key, unpack(ARGV, 5, 4 + fields * 2))
event('planner', redis.call('HGET', key, 'name'), known.name or '', redis.call('HGET', key, 'name'), '', ARGV[3])
local waiting = 0
for _, executor in ipairs(redis.call('SMEMBERS', P .. 'executors')) do
  waiting = waiting + set_aside(executor)
end
for _, line in ipairs(redis.call('ZRANGE', P .. 'supply', 0, -1)) do
  waiting = waiting + redis.call('ZCARD', short_key(line))
  redis.call('RPUSH', P .. 'advance', 'short ' .. line .. ' - 0')
end
wake()
return { waiting }

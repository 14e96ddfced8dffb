-- What the settings say of an executor's target or a tenant's weight. It counts when it is new: what an operator has set
-- since stays as long as the settings say the same as before.
--   ARGV[3]  'target' | 'weight'   ARGV[4]  executor or tenant   ARGV[5]  the value, '' = none
-- Returns { OK } | { STALE } if the settings said so before: nothing was done.
-- @include slots
-- @generate codes

local what, name, value = ARGV[3], ARGV[4], ARGV[5]
local field = what .. ' ' .. name
if (redis.call('HGET', P .. 'declared', field) or '') == value then return { STALE } end

local function put(key, at)
  if value == '' then redis.call('HDEL', key, at) else redis.call('HSET', key, at, value) end
end

put(P .. 'declared', field)
if what == 'target' then
  redis.call('SADD', P .. 'executors', name)
  put(executor_key(name), 'target')
else
  put(P .. 'weights', name)
end
wake()
return { OK }

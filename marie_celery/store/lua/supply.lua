-- Looks at the lines of those who are short of something, where time or a change may have brought it. Puts right first
-- what is booked for attempts that no longer have a slot.
--   ARGV[3]  how many lines at most
-- Returns { lines looked at, milliseconds until the next or -1 }.
-- @include supply

local function has_slot(attempt)
  local executor = redis.call('HGET', job_key(string.match(attempt, '^(.+)%.%d+$')), 'executor')
  return executor and redis.call('ZSCORE', slots_key(executor), attempt)
end

local function tidy(name)
  for _, attempt in ipairs(redis.call('HKEYS', resource_key(name) .. ':holders')) do
    if not has_slot(attempt) then
      give_back(name, attempt)
      redis.call('HDEL', P .. 'bookings', attempt)
      count('reconciled')
    end
  end
end

local due = redis.call('ZRANGEBYSCORE', P .. 'supply', '-inf', int(NOW), 'LIMIT', 0, ARGV[3])
for _, line in ipairs(due) do
  local name = string.match(line, '^([^@/]+)')
  if name then tidy(name) end
  supply(line)
end
local next = redis.call('ZRANGE', P .. 'supply', 0, 0, 'WITHSCORES')
return { #due, next[2] and math.max(0, tonumber(next[2]) - NOW) or -1 }

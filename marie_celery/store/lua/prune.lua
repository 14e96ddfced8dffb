-- Forgets an ended run whose time is over. Its keys go piece by piece.
--   ARGV[3]  run   ARGV[4]  it must have ended before this
-- Returns { OK } | { NOT_READY }.
-- @include settle
-- @generate codes

local run = ARGV[3]
local key = run_key(run)
local found = redis.call('HMGET', key, 'ended_at', 'key', 'state')
if not found[1] or tonumber(found[1]) > tonumber(ARGV[4]) or found[3] == 'staging' then return { NOT_READY } end
-- As before its submission was complete, it is nothing that anybody could still replay.
redis.call('HSET', key, 'state', 'staging')
redis.call('ZREM', P .. 'ended', run)
redis.call('ZREM', P .. 'runs', run)
redis.call('ZREM', P .. 'sla', run)
if found[2] and redis.call('HGET', P .. 'run-keys', found[2]) == run then
  redis.call('HDEL', P .. 'run-keys', found[2])
end
redis.call('RPUSH', P .. 'advance', piece('delete', run, '-', 0))
wake()
return { OK }

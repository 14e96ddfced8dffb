-- Takes a worker out of service, or back in. Its slots go at once and what runs is finished; it holds until it is undone,
-- also if the worker comes back under its name.
--   ARGV[3]  worker   ARGV[4]  '1' drain, '0' undo   ARGV[5]  by whom
-- Returns { OK } | { UNKNOWN } for one that is neither alive nor drained.
-- Events: worker → draining | back.
-- @include slots
-- @generate codes

local worker, draining, by = ARGV[3], ARGV[4] == '1', ARGV[5]
local is_drained = redis.call('SISMEMBER', P .. 'draining', worker) == 1
if draining == is_drained then
  return { (is_drained or redis.call('ZSCORE', P .. 'workers', worker)) and OK or UNKNOWN }
end
if draining then
  if not redis.call('ZSCORE', P .. 'workers', worker) then return { UNKNOWN } end
  redis.call('SADD', P .. 'draining', worker)
  for executor in string.gmatch(redis.call('HGET', worker_key(worker), 'executors') or '', '[^,]+') do
    report_slots(executor, worker, nil)
  end
else
  redis.call('SREM', P .. 'draining', worker)
end
event('worker', worker, '', draining and 'draining' or 'back', '', by)
return { OK }

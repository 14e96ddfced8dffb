-- @include walk
-- Jobs of an ended run that run again.
-- Instructions are '<number> <parents left> <skipped> <failed> <words>', those that can run at once last: nothing may
-- end while what stands behind it has not been reset. Words:
--   gated     what decides whether it may run runs again too
--   last      it runs when all others have ended
--   anew      a map that makes its items again
--   join      a map that keeps its items; those that run again are its parents left
--   replaced  an item of a map that makes its items again: it stays as it was, and counts no more
local function begin_again(run, id, before, deps, skipped, failed, words)
  local key = job_key(id)
  redis.call('HDEL', key, 'due', 'failures', 'timeouts', 'crashes', 'hold', 'shut')
  redis.call('HSET', key, 'at', int(NOW), 'reason', 'replay')
  redis.call('HINCRBY', key, 'epoch', 1)
  local state = 'created'
  if words.join then
    state = 'active'
    redis.call('HSET', key, 'items_left', deps, 'items_failed', failed)
  else
    redis.call('HSET', key, 'deps', deps, 'skipped_parents', skipped, 'failed_parents', failed)
  end
  if words.anew then
    redis.call('HDEL', key, 'items', 'items_left', 'items_failed', 'made', 'numbers', 'within')
    -- Whoever has claimed it before has an old list in his hands.
    redis.call('HINCRBY', key, 'claim', 1)
  end
  if words.gated then redis.call('HSET', key, 'shut', '1') end
  if words.replaced then
    state = 'skipped'
    redis.call('HSET', key, 'reason', 'replaced')
    redis.call('HDEL', key, 'children', 'map')
    redis.call('HINCRBY', run_key(run), 'left', -1)
  end
  redis.call('HSET', key, 'state', state)
  count_job(run, before, -1)
  count_job(run, state, 1)
  redis.call('HDEL', run_key(run) .. ':errors', number_of(id))
  redis.call('HDEL', run_key(run) .. ':results', number_of(id))
  redis.call('ZREM', P .. 'dead', id)
  event('job', id, before, state, words.replaced and 'replaced' or 'replay')
  return state
end

local function sweep_replay(item)
  local run = item[2]
  local key = run_key(run)
  -- Somebody may have cancelled it while it was on its way.
  local cancelled = redis.call('HGET', key, 'cancel')
  for _ = 1, BUDGET do
    local order = redis.call('LPOP', key .. ':replay')
    if not order then
      call_the_last(run, key, tonumber(redis.call('HGET', key, 'left')))
      return
    end
    local number, deps, skipped, failed, rest = string.match(order, '^(%d+) (%d+) (%d+) (%d+)(.*)$')
    local words = {}
    for word in string.gmatch(rest, '%l+') do words[word] = true end
    local id = job_id(run, number)
    local before = redis.call('HGET', job_key(id), 'state')
    local state = begin_again(run, id, before, deps, skipped, failed, words)
    if cancelled and not words.last then
      stop_job(id, 'cancelled', cancelled)
    elseif state == 'created' and deps == '0' and not (words.gated or words.last) then
      release(id, facts_of(id))
    end
  end
  redis.call('LPUSH', P .. 'advance', piece(unpack(item)))
end

-- Holds back or lets go, for good: it is true for whatever becomes ready later as well.
--   ARGV[3]  'job' | 'run' | 'task' | 'executor'   ARGV[4]  which   ARGV[5]  '1' hold, '0' let go   ARGV[6]  by whom
-- Returns { OK } | { UNKNOWN } | { ENDED, state }.
-- Events: run | task | executor → paused | resumed; job ready → held, held → ready.
-- @include aside
-- @include holding
-- @generate codes

local kind, id, holding, by = ARGV[3], ARGV[4], ARGV[5] == '1', ARGV[6]

local HOLD = {
  job = function()
    local key = job_key(id)
    local state = redis.call('HGET', key, 'state')
    if not state then return { UNKNOWN } end
    if not WAITS[state] then return { ENDED, state } end
    if holding then redis.call('HSET', key, 'hold', '1') else redis.call('HDEL', key, 'hold') end
    reconsider(id)
  end,
  run = function()
    local key = run_key(id)
    local found = redis.call('HMGET', key, 'state', 'ended_at', 'started_at', 'paused')
    if not found[1] or found[1] == 'staging' then return { UNKNOWN } end
    if found[2] then return { ENDED, found[1] } end
    if holding == (found[4] ~= false) then return { OK } end
    local state = holding and 'paused' or found[3] and 'active' or 'created'
    if holding then redis.call('HSET', key, 'paused', '1') else redis.call('HDEL', key, 'paused') end
    redis.call('HSET', key, 'state', state)
    runs_seen[id] = nil
    event('run', id, found[1], state, holding and 'paused' or 'resumed', by)
    sweep_reconsider({ 'reconsider', id, '-', 0 })
  end,
  task = function()
    local changed = redis.call(holding and 'SADD' or 'SREM', P .. 'held-tasks', id)
    if changed == 0 then return { OK } end
    event('task', id, '', holding and 'paused' or 'resumed', '', by)
    if holding then
      for _, executor in ipairs(redis.call('SMEMBERS', P .. 'executors')) do set_aside(executor) end
    else
      redis.call('RPUSH', P .. 'advance', 'held - - ' .. redis.call('ZCARD', P .. 'held'))
    end
  end,
  executor = function()
    if redis.call('SISMEMBER', P .. 'executors', id) == 0 then return { UNKNOWN } end
    local key = executor_key(id)
    if holding then redis.call('HSET', key, 'paused', '1') else redis.call('HDEL', key, 'paused') end
    event('executor', id, '', holding and 'paused' or 'resumed', '', by)
  end,
}

local refused = HOLD[kind]()
settle()
wake()
return refused or { OK }

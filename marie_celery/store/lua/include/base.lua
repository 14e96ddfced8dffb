-- Context of every script: where the keys live, what time it is, and the small things all of them need.
--   KEYS[1]  prefix of the namespace, for example marie:{marie}:
--   ARGV[1]  '' for the time of Redis, or milliseconds (a test's clock)
--   ARGV[2]  cap of the event stream
-- A script's own arguments begin at ARGV[3].
-- What is marked @fresh is made anew for every call, also where the functions are kept by the server.
local function microseconds()
  if ARGV[1] ~= '' then return tonumber(ARGV[1]) * 1000 end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local P = KEYS[1] -- @fresh
local NOW_US = microseconds() -- @fresh
local NOW = math.floor(NOW_US / 1000) -- @fresh
local NOW_TEXT = string.format('%d', NOW) -- @fresh
local EVENTS = P .. 'events' -- @fresh
local NOTHING = {}
local unpack = unpack or table.unpack

local function int(number)
  return string.format('%d', number)
end

local function job_key(id) return P .. 'job:' .. id end
local function run_key(run) return P .. 'run:' .. run end
local function ready_key(executor) return P .. 'ready:' .. executor end
local function new_key(executor) return P .. 'new:' .. executor end
local function slots_key(executor) return P .. 'slots:' .. executor end
local function executor_key(executor) return P .. 'executor:' .. executor end
local function worker_key(worker) return P .. 'worker:' .. worker end

-- A run id has 13 characters; its jobs are <run>-<six digits>; a delivery of a job is <job>.<token>.
local function run_of(id) return string.sub(id, 1, 13) end
local function number_of(id) return int(tonumber(string.sub(id, 15))) end
local function job_id(run, number) return run .. '-' .. string.format('%06d', number) end
local function attempt_id(id, token) return id .. '.' .. token end

-- What one call may touch before it leaves the rest to `advance`.
local BUDGET = 1000
local spent = 0 -- @fresh

-- A piece of that, as `advance` reads it. That of a run that was replayed says after how many replays it was left: what
-- is left from before one means nothing any more.
local function replays_of(id)
  return redis.call('HGET', run_key(run_of(id)), 'replays') or ''
end
local function piece(verb, id, detail, position)
  local replays = replays_of(id)
  return table.concat({ verb, id, detail, int(position) .. (replays == '' and '' or '@' .. replays) }, ' ')
end

-- Executors for which something may have become possible, and nobody is woken before it is known that it has.
local calls_for -- @fresh
local woken = false -- @fresh
local function wake(executor)
  if calls_for and executor then
    calls_for[executor] = true
    return
  end
  if woken then return end
  woken = true
  if redis.call('LLEN', P .. 'wake') == 0 then
    redis.call('RPUSH', P .. 'wake', '1')
  end
end

local function count(counter)
  redis.call('HINCRBY', P .. 'counters', counter, 1)
end

-- What there is nothing to say about (why, by) is left out.
local function event(subject, id, from, to, why, by)
  local has_why, has_by = why and why ~= '', by and by ~= ''
  if has_why and has_by then
    redis.call('XADD', EVENTS, 'MAXLEN', '~', ARGV[2], '*',
      subject, id, 'from', from, 'to', to, 'at', NOW_TEXT, 'why', why, 'by', by)
  elseif has_why or has_by then
    redis.call('XADD', EVENTS, 'MAXLEN', '~', ARGV[2], '*',
      subject, id, 'from', from, 'to', to, 'at', NOW_TEXT, has_why and 'why' or 'by', has_why and why or by)
  else
    redis.call('XADD', EVENTS, 'MAXLEN', '~', ARGV[2], '*',
      subject, id, 'from', from, 'to', to, 'at', NOW_TEXT)
  end
end

-- How many jobs of a run are in which state. Many go through several states in one call, so it is written by `save`,
-- once, after a script's last line; whoever reads these numbers has it written before.
local counted = {} -- @fresh
local function count_job(run, state, number)
  local states = counted[run]
  if not states then
    states = { created = 0, ready = 0, dispatched = 0, active = 0, completed = 0 }
    counted[run] = states
  end
  states[state] = (states[state] or 0) + number
end

local function save()
  for run, states in pairs(counted) do
    for state, number in pairs(states) do
      if number ~= 0 then redis.call('HINCRBY', run_key(run), state, number) end
    end
  end
  counted = {}
end

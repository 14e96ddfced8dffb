-- Books a slot and the resources for each job, in the order given, and hands its message to the broker in the same step.
--   ARGV[3]  milliseconds of the dispatch lease
--   ARGV[4]  limit over all executors together, 0 = none
--   then     n, n × (queue key, template)              messages, rendered but for what differs per job
--   then     n, n × (job, number of its template)      0 = the caller publishes the message itself
-- Returns { n × { code, token } } with code OK | NOT_READY | FULL | DAG_LIMIT | SHORT | EXHAUSTED.
-- Events: job ready → dispatched; run created → active with its first job.
-- @include sending

local at = 5
local function take()
  at = at + 1
  return ARGV[at - 1]
end

local lease = int(NOW + tonumber(ARGV[3]))
limit_all(tonumber(ARGV[4]))
local rendered = {}
for number = 1, tonumber(take()) do
  rendered[number] = { take(), take() }
end

local answers = {}
for number = 1, tonumber(take()) do
  local id = take()
  local template = rendered[tonumber(take())]
  local job = facts_of(id)
  local code, token = book(job, lease, dispatched)
  if code == OK and template then
    redis.call('LPUSH', template[1], message(template[2], id, token))
    keep_template(job, template)
  end
  answers[number] = { code, tonumber(token) }
end
settle()
return answers

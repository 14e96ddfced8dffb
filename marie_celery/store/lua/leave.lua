-- A worker says good-bye: its capacity goes at once, and what it still had in its hands is handed back, at no cost to
-- the jobs.
--   ARGV[3]  worker
-- Returns { jobs handed back }.
-- Events: job active → ready.
-- @include settle

local worker = ARGV[3]
local returned = 0
local running = redis.call('HGETALL', worker_key(worker) .. ':jobs')
for i = 1, #running, 2 do
  local id, token = string.match(running[i], '^(.+)%.(%d+)$')
  local job = redis.call('HMGET', job_key(id), 'state', 'token', 'executor')
  if job[3] then free_slot(job[3], worker, running[i]) end
  if job[1] == 'active' and job[2] == token then
    make_ready(id, 'active', 'handed_back')
    returned = returned + 1
  end
end
drop_worker(worker)
redis.call('DEL', worker_key(worker) .. ':jobs')
settle()
wake()
return { returned }

-- @include cancel
-- Visiting all jobs of a run within the budget. An item of left work is { verb, id, detail, position }.
local function each_job(item, visit)
  local jobs = tonumber(redis.call('HGET', run_key(item[2]), 'jobs') or 0)
  if jobs == 0 then return end
  visit_within_budget(item, '0-' .. int(jobs - 1), function(number)
    visit(job_id(item[2], number))
  end)
end

local WAITS = { created = true, ready = true, retry = true, held = true, dispatched = true, active = true }

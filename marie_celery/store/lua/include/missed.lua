-- @include walk
-- Missed SLAs, noted once.
-- detail: soft | hard | expire. Jobs with SLAs of their own are watched by themselves.
local function miss(id, detail)
  local kind = detail == 'expire' and 'hard' or detail
  local state = redis.call('HGET', job_key(id), 'state')
  if not WAITS[state] then return end
  if redis.call('HSETNX', job_key(id), kind .. '_missed', int(NOW)) == 1 then
    count('job' .. string.upper(string.sub(kind, 1, 1)) .. string.sub(kind, 2) .. 'SlaMissed')
    event('job', id, state, 'sla.' .. kind .. '_missed')
  end
  if detail == 'expire' then stop_job(id, 'expired', 'hard_sla') end
end

local function sweep_missed(item)
  each_job(item, function(id)
    if redis.call('HEXISTS', job_key(id), 'sla') == 0 then
      miss(id, item[3] == 'expire' and is_final(id) and 'hard' or item[3])
    end
  end)
end

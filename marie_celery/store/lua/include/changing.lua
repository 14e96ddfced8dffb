-- @include walk
-- New priorities and SLAs for jobs that have not ended.
-- detail: field=value pairs joined by commas; '' as a value deletes the field.
local function set_fields(key, detail, keeps_slas)
  for field, value in string.gmatch(detail, '(%w+)=(%d*)') do
    if keeps_slas and (field == 'soft' or field == 'hard') then
      value = nil
    elseif value == '' then
      redis.call('HDEL', key, field)
    else
      redis.call('HSET', key, field, value)
    end
  end
end

-- SLAs of its own are stronger than those of its run.
local function change_job(id, detail, by_run)
  local job = redis.call('HMGET', job_key(id), 'state', 'sla')
  if not WAITS[job[1]] then return end
  set_fields(job_key(id), detail, by_run and job[2])
  if job[1] == 'ready' then
    rank_again(id)
    wake()
  end
end

local function sweep_fields(item)
  each_job(item, function(id) change_job(id, item[3], true) end)
end

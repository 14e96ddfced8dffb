-- One consistent look at tenants, where they share an executor: those with jobs on offer or at work. Changes nothing.
-- Returns { n × { executor, { n × { tenant, weight in thousandths, virtual time, jobs on offer, jobs at work } } } }.
-- @include tenants

local function look_at(executor)
  local at_work, names = {}, {}
  local function meet(tenant)
    if not at_work[tenant] then
      at_work[tenant] = 0
      names[#names + 1] = tenant
    end
  end
  for _, tenant in ipairs(redis.call('ZRANGE', tenants_key(executor), 0, BUDGET - 1)) do meet(tenant) end
  for _, text in ipairs(redis.call('HVALS', P .. 'charges:' .. executor)) do
    local tenant = string.match(text, '^(.+) %d+ %d+$')
    meet(tenant)
    at_work[tenant] = at_work[tenant] + 1
  end
  local rows = {}
  for i, tenant in ipairs(names) do
    rows[i] = {
      tenant,
      weight_of(tenant),
      int(virtual_time(executor, tenant)),
      jobs_on_offer(lane_of(executor, tenant ~= NOBODY and tenant or nil)),
      at_work[tenant],
    }
  end
  return rows
end

local answer = {}
for _, executor in ipairs(redis.call('SMEMBERS', P .. 'executors')) do
  if is_shared(executor) then answer[#answer + 1] = { executor, look_at(executor) } end
end
return answer

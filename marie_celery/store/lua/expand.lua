-- Makes the next jobs of a map. Many items take several calls, each complete in itself: what is made runs at once, and
-- should the caller die, another goes on from there.
--   ARGV[3]  map   ARGV[4]  number of the claim   ARGV[5]  milliseconds until another may go on
--   ARGV[6]  jobs in all   ARGV[7]  how many there were before this call
--   then     n × (label, inputs, items in it or '')
-- Returns { OK, jobs made so far } | { STALE } if another has taken over | { ENDED } if the map has ended.
-- Events: job created → ready for each; map active → completed if there is nothing to do.
-- @include expanding

local id, total, before = ARGV[3], tonumber(ARGV[6]), tonumber(ARGV[7])
local map, refused = claimed_map(id, ARGV[4], before)
if refused then return refused end
local run = run_of(id)
local first = tonumber(redis.call('HGET', run_key(run), 'jobs'))
local made = (#ARGV - 7) / 3
if not grow(id, first, made) then
  settle()
  return { ENDED }
end
note_items(id, map, total, before + made, made > 0 and int(first) .. '-' .. int(first + made - 1) or '')

-- What is true of the map itself; all else its jobs have from it.
local OWN = {}
for name in string.gmatch('state at reason control name children parents deps skipped_parents failed_parents rule ' ..
  'lists optional behind gate shut batch items items_left items_failed made numbers claim epoch hold soft_missed ' ..
  'hard_missed map', '%S+') do OWN[name] = true end
local common = { 'state', 'created', 'map', number_of(id), 'children', number_of(id) }
for name, value in pairs(map) do
  if not OWN[name] then
    common[#common + 1] = name
    common[#common + 1] = value
  end
end
local own_sla = map.sla and earliest(tonumber(map.soft), tonumber(map.hard))
for i = 0, made - 1 do
  local label, inputs, size = ARGV[8 + i * 3], ARGV[9 + i * 3], ARGV[10 + i * 3]
  local item = job_id(run, first + i)
  redis.call('HSET', run_key(run) .. ':inputs', int(first + i), inputs)
  redis.call('HSET', job_key(item), 'name', map.name .. label, unpack(common))
  if size ~= '' then redis.call('HSET', job_key(item), 'batch', size) end
  if own_sla then redis.call('ZADD', P .. 'sla', int(own_sla), item) end
  release(item, facts_of(item))
end
go_on_or_close(id, total, before + made, ARGV[5])
return { OK, before + made }

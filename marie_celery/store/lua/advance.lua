-- Goes on with one piece of work that an earlier call had to leave because of its bound.
-- Returns { pieces left }.
-- Events: those of the work.
-- @include sweeps

local entry = redis.call('LPOP', P .. 'advance')
if not entry then return { 0 } end
local verb, id, detail, position, replays = string.match(entry, '^(%S+) (.+) (%S+) (%d+)@?(%d*)$')
local item = { verb, id, detail, tonumber(position) }
if replays == replays_of(id) then
  if SWEEPS[verb] then
    SWEEPS[verb](item)
  else
    settling[1] = item
  end
  settle()
end

local left = redis.call('LLEN', P .. 'advance')
if left > 0 then wake() end
return { left }

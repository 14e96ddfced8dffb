-- Finds parts of a JSON text without decoding it: cjson would not write back what it has read (empty lists, large
-- numbers). Texts are those that workers wrote, so they are well-formed.
local DEPTH, decoded, each_member, part_of
do
  local function after_string(text, at)
    at = at + 1
    while true do
      local here = string.find(text, '["\\]', at)
      if string.byte(text, here) == 34 then return here + 1 end
      at = here + 2
    end
  end

  DEPTH = { ['['] = 1, ['{'] = 1, [']'] = -1, ['}'] = -1 }

  local function after_value(text, at)
    local first = string.sub(text, at, at)
    if first == '"' then return after_string(text, at) end
    if not DEPTH[first] then return string.find(text, '[,%]}%s]', at) or #text + 1 end
    local depth = 0
    repeat
      at = string.find(text, '["%[%]{}]', at)
      local step = DEPTH[string.sub(text, at, at)]
      depth = depth + (step or 0)
      at = step and at + 1 or after_string(text, at)
    until depth == 0
    return at
  end

  -- A string as it is meant; should cjson not know it (half a surrogate pair), as it stands.
  function decoded(text)
    local known, found = pcall(cjson.decode, '[' .. text .. ']')
    return known and found[1] or text
  end

  -- Calls visit(key or place from 0, text) for each member of a list or an object, until it answers false.
  function each_member(text, visit)
    local is_list = string.sub(text, 1, 1) == '['
    local at, place = 2, 0
    while true do
      at = string.find(text, '[^%s,]', at)
      if DEPTH[string.sub(text, at, at)] == -1 then return end
      local key = place
      if not is_list then
        local stop = after_string(text, at)
        key = decoded(string.sub(text, at, stop - 1))
        at = string.find(text, '[^%s:]', stop)
      end
      local stop = after_value(text, at)
      if visit(key, string.sub(text, at, stop - 1)) == false then return end
      at, place = stop, place + 1
    end
  end

  local function member(text, part)
    local first = string.sub(text, 1, 1)
    if first ~= (type(part) == 'number' and '[' or '{') then return nil end
    if first == '[' and part < 0 then
      each_member(text, function() part = part + 1 end)
      if part < 0 then return nil end
      -- Counted from the end: by now it is counted from the beginning.
    end
    local found
    each_member(text, function(key, value)
      if key ~= part then return true end
      found = value
      return false
    end)
    return found
  end

  -- The part of a text that parts[first …] lead to, nil if there is none. A part of nothing is nothing.
  function part_of(text, parts, first)
    if text == 'null' then return text end
    for i = first, #parts do
      text = member(text, parts[i])
      if not text then return nil end
    end
    return text
  end
end

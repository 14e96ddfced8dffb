-- @include json
-- Which paths a value takes. Mirrors model/branching.py. names: the paths, in order. Returns their places, or nil and
-- what is wrong.
local TAKE
do
  local FALSE = { ['null'] = true, ['false'] = true, ['""'] = true }

  local function is_true(text)
    if string.find(text, '^%-?%d') then return tonumber(text) ~= 0 end
    return not FALSE[text] and not string.find(text, '^[%[{]%s*[%]}]$')
  end

  local function place_of_name(text, names, default)
    if DEPTH[string.sub(text, 1, 1)] then
      return nil, (#text <= 60 and text or string.sub(text, 1, 57) .. '...') .. ' is not a name'
    end
    local name = string.sub(text, 1, 1) == '"' and decoded(text) or text
    local otherwise
    for place, known in ipairs(names) do
      if known == name then return place end
      if known == default then otherwise = place end
    end
    if otherwise then return otherwise end
    return nil, "there is no path '" .. name .. "'; there are " .. table.concat(names, ', ')
  end

  TAKE = {
    branch = function(text, names)
      local name = is_true(text) and 'then' or 'else'
      for place, known in ipairs(names) do
        if known == name then return { place } end
      end
      return {}
    end,
    switch = function(text, names)
      local place, problem = place_of_name(text, names, 'default')
      return place and { place }, problem
    end,
    choose = function(text, names)
      local wanted, problem = {}, nil
      local function want(each)
        local place, wrong = place_of_name(each, names)
        problem = problem or wrong
        if place then wanted[place] = true end
      end
      if string.sub(text, 1, 1) == '[' then each_member(text, function(_, each) want(each) end) else want(text) end
      if problem then return nil, problem end
      local places = {}
      for place in ipairs(names) do
        if wanted[place] then places[#places + 1] = place end
      end
      return places
    end,
  }
end

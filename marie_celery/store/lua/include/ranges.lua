-- Lists of job numbers as text, "1-3 7". Calls visit(number) from the given position (0 = first) until it
-- answers false; returns the position to go on from, or nil when the list is done.
local function each_number(text, position, visit)
  local at = 0
  for first, last in string.gmatch(text, '(%d+)%-?(%d*)') do
    first = tonumber(first)
    last = tonumber(last) or first
    local size = last - first + 1
    if at + size > position then
      for number = first + math.max(0, position - at), last do
        if not visit(number) then
          return at + (number - first)
        end
      end
    end
    at = at + size
  end
  return nil
end

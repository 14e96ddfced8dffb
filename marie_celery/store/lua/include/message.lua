-- @include base
-- Fills a message that Celery and kombu have rendered with what differs from job to job. The arguments are only
-- shown to people (Flower, logs); a worker fetches its inputs when it starts.
local message
do
  local SHOWN = 1024

  local function quoted(text)
    if #text > SHOWN then
      local last = SHOWN - 3
      -- Not in the middle of a character: bytes 128 to 191 go on with one.
      while last > 0 and string.byte(text, last + 1) >= 128 and string.byte(text, last + 1) < 192 do
        last = last - 1
      end
      text = string.sub(text, 1, last) .. '...'
    end
    return cjson.encode(text)
  end

  function message(template, id, token)
    local run = run_of(id)
    local inputs = redis.call('HGET', run_key(run) .. ':inputs', number_of(id)) or '[]\n{}'
    local cut = string.find(inputs, '\n', 1, true)
    local values = {
      ['"@args@"'] = quoted(string.sub(inputs, 1, cut - 1)),
      ['"@kwargs@"'] = quoted(string.sub(inputs, cut + 1)),
      ['"@attempt@"'] = '"' .. attempt_id(id, token) .. '"',
      ['"@run@"'] = '"' .. run .. '"',
    }
    return (string.gsub(template, '"@%l+@"', values))
  end
end

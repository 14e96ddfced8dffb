-- @include control
-- @include ranges
-- @include join
-- Maps: from the moment their parents let them go to the list of their items' results.
local close_map, item_ended
do
  local PAGE = 500
  local LONGEST_LIST = 268435456

  -- Its items are made by a scheduler, which can read lists.
  function CONTROL.map(id)
    move(id, 'ready', 'active', 'expand')
    redis.call('ZADD', P .. 'expand', int(NOW), id)
    wake()
  end

  -- As long as max_map_length allows: a page after the other, so that no call has too many arguments.
  function close_map(id)
    local run = run_of(id)
    local map = redis.call('HMGET', job_key(id), 'numbers', 'batch')
    local texts, page, size = {}, {}, 0
    local function text_of(number, text)
      if text then return map[2] and string.sub(text, 2, -2) or text end
      if not map[2] then return 'null' end
      return string.sub(string.rep('null,', tonumber(redis.call('HGET', job_key(job_id(run, number)), 'batch'))), 1, -2)
    end
    local function take_page()
      local found = redis.call('HMGET', run_key(run) .. ':results', unpack(page))
      for i, number in ipairs(page) do
        texts[#texts + 1] = text_of(number, found[i])
        size = size + #texts[#texts]
      end
      page = {}
    end
    each_number(map[1] or '', 0, function(number)
      page[#page + 1] = int(number)
      if #page == PAGE then take_page() end
      return size <= LONGEST_LIST
    end)
    if #page > 0 then take_page() end
    if size > LONGEST_LIST then
      fail_control(id, 'active', 'MapError', 'the results of the items are more than 256 MiB together')
    else
      complete_control(id, 'active', 'map', '[' .. table.concat(texts, ',') .. ']')
    end
  end

  -- Skipped items count as done: their place in the list is empty. A map waits for all, unless one has failed it.
  function item_ended(id, how)
    local key = job_key(id)
    if redis.call('HGET', key, 'state') ~= 'active' then return end
    local left = redis.call('HINCRBY', key, 'items_left', -1)
    if how == 'failed' then redis.call('HINCRBY', key, 'items_failed', 1) end
    local job = redis.call('HMGET', key, 'rule', 'items', 'items_failed')
    local verdict = join_verdict(job[1] or 'all_success', tonumber(job[2]), left, 0, tonumber(job[3]))
    if verdict == 'upstream_failed' then
      end_job(id, 'active', 'skipped', 'upstream_failed')
    elseif left == 0 and verdict == 'run' then
      close_map(id)
    elseif left == 0 then
      end_job(id, 'active', 'skipped', 'all_parents_skipped')
    end
  end
end

-- @include facts
-- @include place
-- @include tenants
-- @include transition
-- A job that is ready now may be gone before the call is over. Where a script says so (at_hand is a table, not nil), the
-- first few that nothing stands in the way of are kept at hand: that they are ready is told, but not written, and they are
-- given their place in the ready set when it is known that they stay.
-- Jobs that this call has given a place, with the facts that gave it to them.
local placed = {} -- @fresh
-- The first of the ready sets, as this call has seen them since they last changed.
local firsts = {} -- @fresh
local at_hand -- @fresh
local keep_at_hand, was_at_hand, put_down, score_of
do
  local MOST = 4

  -- True if it is kept, with what changes it.
  function keep_at_hand(job, from, why)
    if not at_hand or #at_hand == MOST or not job.activated or job.held or job.needs ~= NEEDS_NOTHING
      or job.tenant or is_shared(job.executor) then return false end
    check_move(job.id, from, 'ready')
    tell_move(job.id, from, 'ready', why)
    job.why = why
    at_hand[#at_hand + 1] = job
    placed[job.id] = job
    return true
  end

  function was_at_hand(id)
    for i, job in ipairs(at_hand or NOTHING) do
      if job.id == id then
        table.remove(at_hand, i)
        return true
      end
    end
    return false
  end

  -- What it takes to compare it with others; nobody needs it while there are none.
  function score_of(job)
    if not job.score then job.score, job.change = rank(in_full(job)) end
    return job.score
  end

  function put_down()
    local jobs = at_hand or NOTHING
    at_hand, firsts = nil, {}
    for _, job in ipairs(jobs) do
      write_state(job.id, 'ready', job.why, unpack(job.unwritten or NOTHING))
      redis.call('ZADD', ready_key(job.executor), int(score_of(job)), job.id)
      on_offer(job.executor)
      if job.change then redis.call('ZADD', P .. 'rerank', int(job.change), job.id) end
    end
  end
end

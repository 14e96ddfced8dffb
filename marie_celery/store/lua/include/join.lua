-- When a job whose parents end one by one may run. Mirrors model/joins.py.
local function join_verdict(rule, total, left, skipped, failed)
  local done = left == 0
  if rule == 'all_done' then
    return done and 'run' or 'wait'
  elseif rule == 'one_success' then
    if total - left - skipped - failed > 0 then return 'run' end
    if not done then return 'wait' end
    return failed > 0 and 'upstream_failed' or 'skip'
  elseif rule == 'one_failed' then
    if failed > 0 then return 'run' end
    return done and 'skip' or 'wait'
  end
  if failed > 0 then return 'upstream_failed' end
  if not done then return 'wait' end
  if rule == 'all_success' and total > 0 and skipped == total then return 'skip' end
  return 'run'
end

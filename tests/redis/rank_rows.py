"""Jobs, moments and settings at and around every edge that a rank has, and what the scripts make of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from marie_celery.model.priority import PriorityMode
from marie_celery.model.sla import BUCKET_MS
from marie_celery.planning import FlatJob, LevelMode, PlanningSettings
from marie_celery.store.scripts import source
from tests.redis.redis_runs import NOW

HOUR = 3_600_000
AROUND = st.integers(-1, 1)


class Row(NamedTuple):
    """A job, and the moment at which it is ranked."""

    job: FlatJob
    now_ms: int


settings = st.builds(
    PlanningSettings,
    priority_mode=st.sampled_from(PriorityMode),
    level_mode=st.sampled_from(LevelMode),
    starvation_timeout_ms=st.sampled_from([0, 1, 7, 30_000, 999_983, 1_800_000]),
    burst_window_ms=st.sampled_from([0, 1, 10_000]),
    slack_patience_ms=st.sampled_from([0, 1, 999_983, 43_200_000]),
)

buckets = st.tuples(st.integers(-3, 3) | st.sampled_from([-1000, -999, -500, -499, 498, 499, 500]), AROUND)
sla_offsets = buckets.map(lambda at: at[0] * BUCKET_MS + at[1]) | st.integers(-600 * HOUR, 600 * HOUR)
milliseconds = (
    st.none()
    | st.tuples(st.integers(0, 40), AROUND).map(lambda at: max(0, 2 ** at[0] + at[1]))
    | st.integers(0, 2**40)
    | st.integers(0, 5_000)
).map(lambda ms: None if ms is None else min(ms, 2**40))
levels = st.integers(0, 5) | st.sampled_from([131_070, 131_071, 131_072, 10**9])
priorities = st.integers(0, 999) | st.integers(88, 101)


@st.composite
def rows(draw: st.DrawFn, by: PlanningSettings) -> Row:
    now = NOW + draw(st.integers(-1_000, 10**10))
    step = max(1, by.starvation_timeout_ms // 6)
    ageing = st.tuples(st.integers(0, 12), AROUND).map(lambda at: at[0] * step + at[1])
    seconds = st.tuples(st.integers(0, 40), AROUND).map(lambda at: at[0] * 1_000 + at[1])
    burst = AROUND.map(lambda around: by.burst_window_ms + around)
    runtime, path = draw(milliseconds), draw(milliseconds)
    slas = [draw(st.none() | sla_offsets.map(lambda offset: now + offset)) for _ in range(2)]
    reach = draw(st.none() | AROUND)
    if reach is not None:
        # On the edge of what the longest way behind it still allows.
        slas[draw(st.integers(0, 1))] = now + (path if path is not None else runtime or 0) + reach
    job = FlatJob(
        job_id="job",
        run_id="run",
        level=draw(levels),
        priority=draw(priorities),
        soft_sla_ms=slas[0],
        hard_sla_ms=slas[1],
        submitted_ms=now - draw(st.integers(0, 100 * HOUR)),
        ready_ms=now - draw(ageing | seconds | st.integers(-5, 24 * HOUR)),
        estimated_runtime=None if runtime is None else runtime / 1000,
        remaining_path=None if path is None else path / 1000,
        run_activated_ms=draw(st.none() | (burst | st.integers(0, HOUR)).map(lambda ago: now - ago)),
    )
    return Row(job, now)


_RANK_ALL = """
local out = {}
for _, row in ipairs(cjson.decode(ARGV[3])) do
  NOW = row.now
  ranked_last = nil
  local score, change = rank(row)
  out[#out + 1] = string.format('%.17g', score)
  out[#out + 1] = change and string.format('%.17g', change) or ''
end
return out"""


def _script() -> str:
    text = source("rerank")
    return text[: text.index("\nlocal function run()")] + _RANK_ALL


def _as_the_scripts_see_it(row: Row) -> dict[str, int]:
    job = row.job
    known = {
        "now": row.now_ms,
        "level": job.level,
        "priority": job.priority,
        "soft": job.soft_sla_ms,
        "hard": job.hard_sla_ms,
        "runtime": job.runtime_ms,
        "path": None if job.remaining_path is None else job.path_ms,
        "ready": job.ready_ms,
        "submitted": job.submitted_ms,
        "activated": job.run_activated_ms,
    }
    return {name: value for name, value in known.items() if value is not None}


def ranks_in_lua(client: Any, policy: dict[str, str], rows: Sequence[Row]) -> list[tuple[float, int | None]]:
    """(score, valid until) of each row, under a planner."""
    client.delete("p:planner")
    client.hset("p:planner", mapping=policy)
    found = client.eval(_script(), 1, "p:", "0", "10", json.dumps([_as_the_scripts_see_it(row) for row in rows]))
    return [
        (float(score), int(float(change)) if change else None)
        for score, change in zip(found[::2], found[1::2], strict=True)
    ]

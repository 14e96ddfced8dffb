"""The named sort keys that planners are made of.

A key gives each job a whole number of a fixed width, smaller first, and says when that number will change by
the passing of time alone. What changes it otherwise (a new priority, a run that becomes active) is an event,
and whoever causes the event ranks the job again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from marie_celery.errors import ConfigError
from marie_celery.model.ageing import ageing_next_change, effective_priority
from marie_celery.model.priority import MAX_COMBINED, MAX_PRIORITY, combine
from marie_celery.model.sla import sla_next_change, sla_score
from marie_celery.planning import ranking
from marie_celery.planning.job import FlatJob
from marie_celery.planning.settings import LevelMode, PlanningSettings

MOST_SLOTS = 2**20 - 1


@dataclass(slots=True)
class View:
    """What a key may look at beside the job. A rank knows neither slots nor sets, only the job itself."""

    now_ms: int
    settings: PlanningSettings
    slots: Mapping[str, int] | None = None
    active_dags: AbstractSet[str] | None = None
    recently_activated_dags: AbstractSet[str] | None = None


@dataclass(frozen=True, slots=True)
class SortKey:
    name: str
    bits: int
    place: Callable[[FlatJob, View], int]
    next_change: Callable[[FlatJob, View], int | None] | None = None
    in_rank: bool = True
    """False if the number is the same for all jobs of one executor."""


def is_blocked(job: FlatJob, slots: Mapping[str, int]) -> bool:
    return job.needs_slot and slots.get(job.executor, 0) <= 0


def _blocked(job: FlatJob, view: View) -> int:
    return int(view.slots is not None and is_blocked(job, view.slots))


def _free_slots(job: FlatJob, view: View) -> int:
    free = view.slots.get(job.executor, 0) if view.slots else 0
    return MOST_SLOTS - min(MOST_SLOTS, max(0, free))


def _new_dag(job: FlatJob, view: View) -> int:
    if view.active_dags is None:
        return int(job.run_activated_ms is None)
    return int(job.run_id not in view.active_dags)


def _level(job: FlatJob, view: View) -> int:
    if view.settings.level_mode is LevelMode.CRITICAL_PATH:
        return ranking.LEVEL_LAST - ranking.path_step(job.path_ms)
    return ranking.LEVEL_LAST - min(ranking.LEVEL_LAST, job.level)


def _priority(job: FlatJob, view: View) -> int:
    now_ms, settings = view.now_ms, view.settings
    score = sla_score(now_ms, job.soft_sla_ms, job.hard_sla_ms)
    user = effective_priority(job.priority, now_ms - job.ready_ms, settings.starvation_timeout_ms)
    return MAX_COMBINED - combine(settings.priority_mode, score, user)


def _priority_next_change(job: FlatJob, view: View) -> int | None:
    now_ms, timeout_ms = view.now_ms, view.settings.starvation_timeout_ms
    return earliest(
        sla_next_change(now_ms, job.soft_sla_ms, job.hard_sla_ms),
        ageing_next_change(job.priority, job.ready_ms, now_ms, timeout_ms),
    )


def _user_priority(job: FlatJob, view: View) -> int:
    return MAX_PRIORITY - job.priority


def _estimated_runtime(job: FlatJob, view: View) -> int:
    return ranking.runtime_step(job.runtime_ms)


def _response_ratio(job: FlatJob, view: View) -> int:
    return ranking.RATIO_LAST - ranking.ratio_step(view.now_ms - job.ready_ms, job.runtime_ms)


def _response_ratio_next_change(job: FlatJob, view: View) -> int | None:
    wait_ms = ranking.ratio_next_change(view.now_ms - job.ready_ms, job.runtime_ms)
    return None if wait_ms is None else job.ready_ms + wait_ms


def _latest_start(job: FlatJob, view: View) -> int:
    return ranking.start_place(_start(job, view).ms, job.priority)


def _latest_start_next_change(job: FlatJob, view: View) -> int | None:
    return _start(job, view).until_ms


def _start(job: FlatJob, view: View) -> ranking.LatestStart:
    resort_ms = ranking.last_resort_ms(job.submitted_ms, job.priority, view.settings.slack_patience_ms)
    return ranking.latest_start(view.now_ms, job.path_ms, job.soft_sla_ms, job.hard_sla_ms, resort_ms)


def _burst(job: FlatJob, view: View) -> int:
    if view.recently_activated_dags is None:
        return int(_burst_next_change(job, view) is None)
    return int(job.run_id not in view.recently_activated_dags)


def _burst_next_change(job: FlatJob, view: View) -> int | None:
    if job.run_activated_ms is None:
        return None
    end_ms = job.run_activated_ms + view.settings.burst_window_ms
    return end_ms if view.now_ms < end_ms else None


def earliest(*moments: int | None) -> int | None:
    return min((moment for moment in moments if moment is not None), default=None)


KEYS = {
    key.name: key
    for key in (
        SortKey("blocked", ranking.FLAG_BITS, _blocked, in_rank=False),
        SortKey("free_slots", 20, _free_slots, in_rank=False),
        SortKey("new_dag", ranking.FLAG_BITS, _new_dag),
        SortKey("level", ranking.LEVEL_BITS, _level),
        SortKey("priority", ranking.PRIORITY_BITS, _priority, _priority_next_change),
        SortKey("user_priority", ranking.USER_PRIORITY_BITS, _user_priority),
        SortKey("estimated_runtime", ranking.RUNTIME_BITS, _estimated_runtime),
        SortKey("response_ratio", ranking.RATIO_BITS, _response_ratio, _response_ratio_next_change),
        SortKey("latest_start", ranking.MOMENT_BITS, _latest_start, _latest_start_next_change),
        SortKey("burst", ranking.FLAG_BITS, _burst, _burst_next_change),
    )
}

# The order of submission. It needs no bits: equal scores are in the order of job ids already.
FIFO = "fifo"


def sort_keys(names: tuple[str, ...]) -> tuple[SortKey, ...]:
    """The keys of these names. `fifo` always ends the row, whether it is named or not."""
    row = names[:-1] if names[-1:] == (FIFO,) else names
    for name in row:
        if name == FIFO:
            raise ConfigError("the sort key 'fifo' leaves no ties, so it can only be the last")
        if name not in KEYS:
            raise ConfigError(f"there is no sort key '{name}', only {', '.join([*KEYS, FIFO])}")
        if row.count(name) > 1:
            raise ConfigError(f"the sort key '{name}' is given twice")
    keys = tuple(KEYS[name] for name in row)
    bits = sum(key.bits for key in keys if key.in_rank)
    if bits > ranking.SCORE_BITS:
        raise ConfigError(f"the sort keys {', '.join(row)} need {bits} bits, a rank has {ranking.SCORE_BITS}")
    return keys

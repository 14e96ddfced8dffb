"""One look at Redis, as `why.lua` brings it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from marie_celery.model.states import WorkState
from marie_celery.planning.share import FULL
from marie_celery.store.caller import Caller, as_mapping, maybe_int, pairs

MOST_SHOWN = 5
"""So many of those ahead, of holders and of parents are named."""


@dataclass(frozen=True, slots=True)
class Waiting:
    job_id: str
    name: str
    score: float


@dataclass(frozen=True, slots=True)
class ExecutorFacts:
    name: str
    capacity: int
    paused: bool
    credit: int
    active_waiting: int
    new_waiting: int
    aside: int
    """Ready jobs that have no rank yet under the planner in force."""
    first_active: Sequence[Waiting]
    first_new: Sequence[Waiting]
    used: int
    holders: Mapping[str, str]
    """attempt → worker, '' while nobody has started it; the first few"""
    workers: Mapping[str, int]
    """Live ones, with their slots."""


@dataclass(frozen=True, slots=True)
class JobFacts:
    job_id: str
    fields: Mapping[str, str]
    error: Mapping[str, str] | None
    line: str
    """ready, new, stale:ready, stale:new, or none."""
    score: float
    place: int
    place_in_other: int

    @property
    def state(self) -> WorkState:
        return WorkState(self.fields["state"])

    @property
    def name(self) -> str:
        return self.fields["name"]

    def number(self, field: str) -> int:
        return int(self.fields.get(field) or 0)


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    planner: str
    rank_keys: Sequence[str]
    share: int
    """Thousandths of the choices for new runs; below 0 the planner does not tell new runs from others."""
    max_active_dags: int
    active_dags: int
    used: int
    schedulers: int
    left_work: int
    staged_until_ms: int | None
    max_concurrency: int

    @property
    def keeps_new_runs_out(self) -> bool:
        return 0 < self.max_active_dags <= self.active_dags

    @property
    def shares(self) -> bool:
        return 0 <= self.share <= FULL


@dataclass(frozen=True, slots=True)
class Snapshot:
    now_ms: int
    run_id: str
    run: Mapping[str, str]
    jobs: Mapping[int, JobFacts]
    executors: Mapping[str, ExecutorFacts]
    cluster: ClusterFacts


def look(store: Caller, run: str, numbers: Sequence[int]) -> Snapshot:
    now_ms, fields, jobs, executors, cluster = store.call("why", run, MOST_SHOWN, len(numbers), *numbers)
    return Snapshot(
        int(now_ms),
        run,
        as_mapping(fields),
        {number: _job(*row) for number, row in zip(numbers, jobs, strict=True) if row[1]},
        {row[0]: _executor(*row) for row in executors},
        _cluster(store.settings.max_concurrency, *cluster),
    )


def _job(job: str, fields: Sequence[str], error: str, line: str, score: str, place: int, other: int) -> JobFacts:
    return JobFacts(job, as_mapping(fields), json.loads(error) if error else None, line, float(score), place, other)


def _executor(
    name: str,
    capacity: int,
    paused: int,
    credit: int,
    active: int,
    new: int,
    aside: int,
    first_active: Sequence[Sequence[str]],
    first_new: Sequence[Sequence[str]],
    used: int,
    holders: Sequence[str],
    workers: Sequence[str],
) -> ExecutorFacts:
    return ExecutorFacts(
        name,
        capacity,
        bool(paused),
        credit,
        active,
        new,
        aside,
        [Waiting(job, label, float(score)) for job, label, score in first_active],
        [Waiting(job, label, float(score)) for job, label, score in first_new],
        used,
        as_mapping(holders),
        {worker: int(slots) for worker, slots in pairs(workers)},
    )


def _cluster(max_concurrency: int, planner: str, rank_keys: str, *numbers: Any) -> ClusterFacts:
    share, max_active_dags, active_dags, used, schedulers, left_work, staged = numbers
    return ClusterFacts(
        str(planner),
        str(rank_keys).split(),
        int(share),
        int(max_active_dags),
        int(active_dags),
        int(used),
        int(schedulers),
        int(left_work),
        maybe_int(staged or None),
        max_concurrency,
    )

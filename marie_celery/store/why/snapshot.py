"""One look at Redis, as `why.lua` brings it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from marie_celery.model.states import WorkState
from marie_celery.planning.share import FULL
from marie_celery.resources.stock import Holding
from marie_celery.store.caller import Caller, as_mapping, maybe_int, pairs
from marie_celery.store.keys import lane_of
from marie_celery.store.resources import holding_of

MOST_SHOWN = 5
"""So many of those ahead, of holders and of parents are named."""


@dataclass(frozen=True, slots=True)
class Waiting:
    job_id: str
    name: str
    score: float


@dataclass(frozen=True, slots=True)
class Standing:
    """A tenant among those with jobs on offer for an executor. Weights are in thousandths."""

    weight: int
    weights: int
    place: int
    """By what they have had, 1 = next; 0 if it has nothing on offer."""
    tenants: int


@dataclass(frozen=True, slots=True)
class ExecutorFacts:
    """An executor, and of those who wait for it the ones of one tenant."""

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
    tenant: str = ""
    """'' = those who name none."""
    standing: Standing = Standing(1000, 1000, 1, 1)


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why a job does not get what it needs of one resource."""

    resource: str
    kind: str
    key: str
    amount: int
    left: int
    size: int | None
    """None = nobody has declared it."""
    mode: str
    """hold or skip"""
    place: int
    """In its line, 1 = first; 0 if it does not stand there."""
    waiting: int
    kept_for: Waiting | None
    """Who is to have what is left."""
    enough_ms: int | None
    """When time alone will have brought enough."""
    holders: Sequence[Holding]
    """The first few."""


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
    shortages: Sequence[Shortage] = ()
    highlander: str = ""
    """The name under which only one run may be under way, if its run has not begun."""
    rival: str = ""
    """The run that is under way instead."""

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
    """By lane: an executor, or executor@tenant."""
    cluster: ClusterFacts


def look(store: Caller, run: str, numbers: Sequence[int]) -> Snapshot:
    now_ms, fields, jobs, executors, cluster = store.call("why", run, MOST_SHOWN, len(numbers), *numbers)
    return Snapshot(
        int(now_ms),
        run,
        as_mapping(fields),
        {number: _job(*row) for number, row in zip(numbers, jobs, strict=True) if row[1]},
        {lane_of(row[0], row[1]): _executor(*row) for row in executors},
        _cluster(store.settings.max_concurrency, *cluster),
    )


def _job(job: str, fields: Sequence[str], error: str, line: str, score: str, *rest: Any) -> JobFacts:
    place, other, shortages, rival = rest
    return JobFacts(
        job,
        as_mapping(fields),
        json.loads(error) if error else None,
        line,
        float(score),
        place,
        other,
        [_shortage(*row) for row in shortages],
        *rival,
    )


def _shortage(resource: str, kind: str, key: str, amount: int, left: int, size: str, mode: str, *rest: Any) -> Shortage:
    place, waiting, other, other_name, enough_ms, holders = rest
    return Shortage(
        resource,
        kind,
        key,
        amount,
        left,
        maybe_int(size or None),
        mode,
        place,
        waiting,
        Waiting(other, other_name, 0.0) if other else None,
        maybe_int(enough_ms or None),
        [holding_of(*row) for row in holders],
    )


def _executor(
    name: str,
    tenant: str,
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
    standing: Sequence[int],
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
        tenant,
        Standing(*standing),
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

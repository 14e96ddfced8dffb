"""The duties of a scheduler. Each is a small class with one method; each step is atomic in Redis, so any number of
schedulers can do them side by side."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from marie_celery.planning import ExecutionPlanner, FlatJob
from marie_celery.store.codes import Code
from marie_celery.store.keys import run_of
from marie_celery.store.records import Candidate
from marie_celery.store.store import Store
from marie_celery.transport.transports import Transport

log = logging.getLogger(__name__)

LOOK_AHEAD = 16
MOST_PER_EXECUTOR = 256
ADVANCES_PER_TURN = 20


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn of a service has seen and done."""

    worked: bool = False
    slots_free: bool = False
    next_seconds: float | None = None
    """Look again after this long at the latest."""


class Dispatcher:
    """Sends the best ready jobs to executors that have room."""

    def __init__(self, store: Store, planner: ExecutionPlanner, transport: Transport) -> None:
        self._store = store
        self._planner = planner
        self._transport = transport

    def turn(self) -> Turn:
        rooms = self._store.peek(LOOK_AHEAD, MOST_PER_EXECUTOR)
        free = {room.executor: room.free for room in rooms}
        candidates = {job.job_id: job for room in rooms for job in room.candidates}
        slots_free = any(number > 0 for number in free.values())
        if not candidates:
            return Turn(slots_free=slots_free)
        jobs = [flat_job(candidate) for candidate in candidates.values()]
        active = {job.run_id for job in jobs}
        ordered = self._planner.plan(jobs, free, active, exclude_blocked=True)
        chosen = self._within_room([candidates[job.job_id] for job in ordered], free)
        claims = self._transport.send(chosen)
        sent = sum(claim.code == Code.OK for claim in claims)
        log.debug("dispatched %d of %d", sent, len(chosen))
        return Turn(worked=sent > 0, slots_free=slots_free)

    @staticmethod
    def _within_room(jobs: list[Candidate], free: dict[str, int]) -> list[Candidate]:
        left = dict(free)
        chosen = []
        for job in jobs:
            if left[job.executor] > 0:
                left[job.executor] -= 1
                chosen.append(job)
        return chosen


class Promoter:
    """Makes jobs ready whose retry delay is over."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def turn(self) -> Turn:
        promoted, next_seconds = self._store.promote()
        return Turn(worked=promoted > 0, next_seconds=next_seconds)


class Advancer:
    """Goes on with work that was too long for one script call: wide fan-outs, large cancels, abandoned submits."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def turn(self) -> Turn:
        for number in range(ADVANCES_PER_TURN):
            if not self._store.advance():
                return Turn(worked=number > 0)
        return Turn(worked=True, next_seconds=0.0)


class Reaper:
    """Finds dead workers, ended leases and abandoned submissions."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def turn(self) -> Turn:
        reaped = self._store.reap()
        if reaped:
            log.info(
                "reaped %d workers, %d lost jobs, %d unstarted jobs, %d abandoned submissions",
                reaped.workers,
                reaped.lost,
                reaped.resent,
                reaped.abandoned,
            )
        return Turn(worked=bool(reaped))


def flat_job(job: Candidate) -> FlatJob:
    return FlatJob(
        job_id=job.job_id,
        run_id=run_of(job.job_id),
        task=job.task,
        executor=job.executor,
        level=job.level,
        priority=job.priority,
        soft_sla_ms=job.soft_ms,
        hard_sla_ms=job.hard_ms,
        ready_ms=job.ready_ms,
        estimated_runtime=None if job.estimate_ms is None else job.estimate_ms / 1000,
    )

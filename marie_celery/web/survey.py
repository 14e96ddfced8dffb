"""All about the executors, for the API and for Prometheus, in four round trips."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from marie_celery.capacity import ExecutorStatus, clock_ms, look
from marie_celery.planning.estimates import RuntimeEstimate
from marie_celery.store.store import Store
from marie_celery.web.backlog import Backlog, Sample, Waiting, backlog_of

SAMPLE = 200
SAMPLES = 2_000
"""So many jobs are looked at for all executors together, unless there are very many executors."""
FEWEST = 10
QUEUES = 4


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    name: str
    slots: int
    is_draining: bool
    facts: Mapping[str, str | None]
    seen_seconds_ago: float | None


@dataclass(frozen=True, slots=True)
class ExecutorSurvey:
    status: ExecutorStatus
    ready: int
    """Ready jobs of runs that have begun."""
    new: int
    """Ready jobs of runs that have not."""
    backlog: Backlog
    workers: Sequence[WorkerStatus]

    def as_json(self) -> dict[str, Any]:
        status = self.status
        return {
            "name": status.view.name,
            "paused": status.is_paused,
            "notes": ", ".join(status.notes),
            "capacity": status.view.capacity,
            "target": status.target,
            "used": status.used,
            "available": status.available,
            "ready": self.ready,
            "new": self.new,
            "oldest_wait_seconds": self.backlog.oldest_seconds,
            "backlog": self.backlog.as_json(),
            "workers": [
                {
                    "name": worker.name,
                    "slots": worker.slots,
                    "draining": worker.is_draining,
                    **worker.facts,
                    "seen_seconds_ago": worker.seen_seconds_ago,
                }
                for worker in self.workers
            ],
        }


def survey(store: Store) -> list[ExecutorSurvey]:
    statuses = look(store)
    size = max(FEWEST, min(SAMPLE, SAMPLES // max(1, len(statuses))))
    with store.client.pipeline(transaction=False) as pipe:
        pipe.time()
        pipe.hgetall(store.keys.estimates)
        for status in statuses:
            for key in _queues(store, status.view.name):
                pipe.zcard(key)
                pipe.zrandmember(key, size)
                pipe.zrange(key, 0, FEWEST - 1)
        time, learned, *answers = pipe.execute()
    now_ms = clock_ms(store, time)
    workers = {worker for status in statuses for worker in (*status.view.workers, *status.draining)}
    totals, drawn, best = answers[::3], answers[1::3], answers[2::3]
    details = _details(store, chain(*drawn, *best), workers)
    estimates = {task: RuntimeEstimate.from_text(text) for task, text in learned.items()}

    def waiting(jobs: Iterable[str]) -> list[Waiting]:
        found = [details.jobs[job] for job in jobs]
        return [_waiting(job, estimates, now_ms) for job in found if job[0] == "ready"]

    samples = map(Sample, totals, map(waiting, drawn), map(waiting, best))
    made = []
    for status in statuses:
        ready, stale_ready, new, stale_new = mine = list(islice(samples, QUEUES))
        made.append(
            ExecutorSurvey(
                status,
                ready=ready.total + stale_ready.total,
                new=new.total + stale_new.total,
                backlog=backlog_of(mine),
                workers=_workers(status, details.workers, now_ms),
            )
        )
    return made


def _queues(store: Store, executor: str) -> tuple[str, str, str, str]:
    keys = store.keys
    return keys.ready(executor), keys.stale_ready(executor), keys.new(executor), keys.stale_new(executor)


@dataclass(frozen=True, slots=True)
class _Details:
    jobs: Mapping[str, Sequence[str | None]]
    workers: Mapping[str, Sequence[str | None]]


def _details(store: Store, jobs: Iterable[str], workers: Iterable[str]) -> _Details:
    drawn, named = sorted(set(jobs)), sorted(workers)
    with store.client.pipeline(transaction=False) as pipe:
        for job in drawn:
            pipe.hmget(store.keys.job(job), "state", "at", "estimate", "task")
        for worker in named:
            pipe.hmget(store.keys.worker(worker), "host", "pid", "pool", "seen_at")
        found = pipe.execute()
    return _Details(dict(zip(drawn, found, strict=False)), dict(zip(named, found[len(drawn) :], strict=True)))


def _waiting(job: Sequence[str | None], estimates: Mapping[str, RuntimeEstimate], now_ms: int) -> Waiting:
    _, at, estimate, task = job
    learned = estimates.get(task or "", RuntimeEstimate()).seconds
    known = int(estimate) if estimate else None if learned is None else round(learned * 1000)
    return Waiting(max(0, now_ms - int(at or now_ms)), known)


def _workers(status: ExecutorStatus, facts: Mapping[str, Sequence[str | None]], now_ms: int) -> list[WorkerStatus]:
    made = []
    for name in sorted({*status.view.workers, *status.draining}):
        host, pid, pool, seen_at = facts[name]
        seen = None if seen_at is None else max(0, now_ms - int(seen_at)) / 1000
        slots = status.view.workers.get(name, 0)
        made.append(WorkerStatus(name, slots, name in status.draining, {"host": host, "pid": pid, "pool": pool}, seen))
    return made

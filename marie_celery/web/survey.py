"""All about the executors, for the API and for Prometheus, in five round trips."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from marie_celery.capacity import ExecutorStatus, clock_ms, look
from marie_celery.planning.estimates import RuntimeEstimate
from marie_celery.store.keys import lane_of
from marie_celery.store.store import Store
from marie_celery.web.backlog import Backlog, Sample, Waiting, backlog_of

SAMPLE = 200
SAMPLES = 2_000
"""So many jobs are looked at for all executors together, unless there are very many executors and tenants."""
NEXT = 10


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
    short: int
    """Ready jobs that wait for a resource, of either kind of run."""
    backlog: Backlog
    backlog_short: Backlog
    """The part of it that waits for resources: more workers would not help it."""
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
            "short": self.short,
            "oldest_wait_seconds": self.backlog.oldest_seconds,
            "backlog": {**self.backlog.as_json(), "short_seconds": self.backlog_short.seconds},
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
    lanes = _lanes(store, statuses)
    size = max(1, min(SAMPLE, SAMPLES // max(1, sum(map(len, lanes)))))
    with store.client.pipeline(transaction=False) as pipe:
        pipe.time()
        pipe.hgetall(store.keys.estimates)
        for key in (key for mine in lanes for key in _queues(store, mine)):
            pipe.zcard(key)
            pipe.zrandmember(key, size)
            pipe.zrange(key, 0, min(NEXT, size) - 1)
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
    return [
        _survey(status, list(islice(samples, 1 + 4 * len(mine))), _workers(status, details.workers, now_ms))
        for status, mine in zip(statuses, lanes, strict=True)
    ]


def _survey(status: ExecutorStatus, samples: Sequence[Sample], workers: Sequence[WorkerStatus]) -> ExecutorSurvey:
    short, *ranked = samples
    return ExecutorSurvey(
        status,
        ready=sum(sample.total for sample in ranked[0::2]),
        new=sum(sample.total for sample in ranked[1::2]),
        short=short.total,
        backlog=backlog_of(samples),
        backlog_short=backlog_of([short]),
        workers=workers,
    )


def _lanes(store: Store, statuses: Sequence[ExecutorStatus]) -> list[list[str]]:
    """Per executor: its own lane, and those of tenants with jobs on offer."""
    with store.client.pipeline(transaction=False) as pipe:
        for status in statuses:
            pipe.zrange(store.keys.tenants(status.view.name), 0, -1)
        found = pipe.execute()
    return [
        list(dict.fromkeys(lane_of(status.view.name, tenant) for tenant in ("", *tenants)))
        for status, tenants in zip(statuses, found, strict=True)
    ]


def _queues(store: Store, lanes: Sequence[str]) -> Iterator[str]:
    """What is short first, then by turns what belongs to runs that have begun and to runs that have not."""
    keys = store.keys
    yield keys.parked(lanes[0])
    for lane in lanes:
        yield from (keys.ready(lane), keys.new(lane), keys.stale_ready(lane), keys.stale_new(lane))


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

"""Which of a run's ready jobs is next."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from marie_celery.config import Settings
from marie_celery.local.jobs import Job
from marie_celery.planning.job import FlatJob
from marie_celery.planning.registry import planner
from marie_celery.simulation.ready_set import ReadySet


class Line(Protocol):
    def __len__(self) -> int: ...

    def put(self, job: Job, now_ms: int) -> None: ...

    def take(self, now_ms: int) -> int: ...


class FirstInFirstOut:
    """With a slot for everyone the order means nothing."""

    def __init__(self) -> None:
        self._numbers: deque[int] = deque()

    def __len__(self) -> int:
        return len(self._numbers)

    def put(self, job: Job, now_ms: int) -> None:
        self._numbers.append(job.number)

    def take(self, now_ms: int) -> int:
        return self._numbers.popleft()


class Planned:
    """As the cluster's planner would choose among the jobs of one run; ageing by the in-process time-out."""

    def __init__(self, settings: Settings, submitted_ms: int) -> None:
        ageing = settings.model_copy(update={"starvation_timeout": settings.scheduler_starvation_timeout})
        self._ready = ReadySet(planner(settings.planner, ageing.planning), new_dag_share=0)
        self._submitted_ms = submitted_ms

    def __len__(self) -> int:
        return len(self._ready)

    def put(self, job: Job, now_ms: int) -> None:
        self._ready.put(
            FlatJob(
                job_id=f"{job.number:06}",
                run_id="local",
                task=job.task,
                executor="local",
                level=job.level,
                priority=job.priority,
                soft_sla_ms=job.soft_ms,
                hard_sla_ms=job.hard_ms,
                submitted_ms=self._submitted_ms,
                ready_ms=now_ms,
                estimated_runtime=_seconds(job.estimate_ms),
                remaining_path=_seconds(job.path_ms),
                run_activated_ms=self._submitted_ms,
            ),
            now_ms,
        )

    def take(self, now_ms: int) -> int:
        return int(self._ready.take(now_ms).job_id)


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000

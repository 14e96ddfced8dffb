"""The Celery side of a task."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from celery import Task as CeleryTask

from marie_celery.worker.attempt import Attempt
from marie_celery.worker.coroutines import call

if TYPE_CHECKING:
    from marie_celery.authoring.task import Task

_ATTEMPT = re.compile(r"[0-9a-f]{13}-\d{6}\.\d+")


def is_attempt(task_id: str | None) -> bool:
    """Messages that marie_celery sends have an attempt of a job as their id."""
    return task_id is not None and _ATTEMPT.fullmatch(task_id) is not None


def runs_a_job(task: Any) -> bool:
    """Is this Celery task called for a job, or plainly?"""
    request = task.request
    return not request.called_directly and is_attempt(request.id)


def run_attempt(task: Any) -> Any:
    from marie_celery.extension import Marie

    request = task.request
    return Attempt(Marie.of(task.app).store, task.marie, request.id, request.hostname).run()


class MarieTask(CeleryTask):  # type: ignore[misc]
    """Runs a job if the message is an attempt of one; anything else is plain Celery."""

    abstract = True
    marie: Task[..., Any]
    Request = "marie_celery.worker.request:MarieRequest"
    Strategy = "marie_celery.worker.strategy:relaying"

    # The state in Redis decides about doing it again, never the broker.
    acks_late = False
    reject_on_worker_lost = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return run_attempt(self) if runs_a_job(self) else call(self.run, args, kwargs)

"""The Celery side of a task."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from celery import Task as CeleryTask

from marie_celery.worker.attempt import Attempt

if TYPE_CHECKING:
    from marie_celery.authoring.task import Task

_ATTEMPT = re.compile(r"[0-9a-f]{13}-\d{6}\.\d+")


def is_attempt(task_id: str | None) -> bool:
    """Messages that marie_celery sends have an attempt of a job as their id."""
    return task_id is not None and _ATTEMPT.fullmatch(task_id) is not None


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
        request = self.request
        if request.called_directly or not is_attempt(request.id):
            return self.run(*args, **kwargs)
        from marie_celery.extension import Marie

        return Attempt(Marie.of(self.app).store, self.marie, request.id, request.hostname).run()

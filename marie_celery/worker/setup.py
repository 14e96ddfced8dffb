"""Hooks a Celery app up: bootsteps, queues of all executors for a worker without `-Q`, unknown tasks."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from celery import signals
from redis import RedisError

from marie_celery.model.retry import FailureKind
from marie_celery.store.keys import split_attempt
from marie_celery.worker.task import is_attempt

if TYPE_CHECKING:
    from marie_celery.extension import Marie

log = logging.getLogger(__name__)


def install(marie: Marie) -> None:
    from marie_celery.worker.heartbeat import Heartbeat

    app = marie.app
    app.steps["worker"].add(Heartbeat)

    def serve_all_executors(instance: Any = None, **_: Any) -> None:
        if instance is None or instance.app is not app:
            return
        # Before Celery reads -Q and -X, which then choose among these as among all others.
        app.loader.import_default_modules()
        queues = app.amqp.queues
        for name in sorted(marie.executors()):
            queue = marie.settings.queue_of(name)
            if queue not in queues:
                queues.select_add(queues.new_missing(queue))

    def report_unknown_task(sender: Any = None, name: str = "", id: str = "", **_: Any) -> None:
        if not is_attempt(id) or getattr(sender, "app", None) is not app:
            return
        job, token = split_attempt(id)
        error = {"type": "NotRegistered", "message": f"worker {sender.hostname} does not know the task '{name}'"}
        try:
            marie.store.fail(job, token, sender.hostname, FailureKind.FAILURE, error)
        except RedisError as problem:
            log.warning("could not report the unknown task %s (%s)", name, problem)

    uid = f"marie-{id(app)}"
    signals.celeryd_init.connect(serve_all_executors, weak=False, dispatch_uid=f"{uid}-queues")
    signals.task_unknown.connect(report_unknown_task, weak=False, dispatch_uid=f"{uid}-unknown")

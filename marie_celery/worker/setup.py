"""Hooks a Celery app up: bootsteps, queues of all executors for a worker without `-Q`, unknown tasks."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from celery import current_app, signals
from celery.app.defaults import DEFAULTS
from redis import RedisError

from marie_celery.errors import UnknownJob
from marie_celery.model.retry import FailureKind
from marie_celery.store.keys import split_attempt
from marie_celery.worker.adoption import adopt_plain_tasks
from marie_celery.worker.errback import add_errback_task
from marie_celery.worker.task import is_attempt

if TYPE_CHECKING:
    from marie_celery.extension import Marie

log = logging.getLogger(__name__)


WORKER_SETTINGS = {
    # A job is sent when a process is free for it: a worker that hoards messages only keeps them from others.
    "worker_disable_prefetch": True,
    "worker_consumer": "marie_celery.worker.consumer:SteadfastConsumer",
    "broker_connection_max_retries": None,
}


def prefer(conf: Any, settings: Mapping[str, Any]) -> None:
    """Our values where the app has left Celery's."""
    for name, value in settings.items():
        if conf[name] == DEFAULTS[name]:
            conf[name] = value


def install(marie: Marie) -> None:
    from marie_celery.worker.heartbeat import Heartbeat

    app = marie.app
    app.steps["worker"].add(Heartbeat)
    add_errback_task(marie)

    def serve_all_executors(instance: Any = None, **_: Any) -> None:
        if instance is None or instance.app is not app:
            return
        prefer(app.conf, WORKER_SETTINGS)
        # Before Celery reads -Q and -X, which then choose among these as among all others.
        app.loader.import_default_modules()
        queues = app.amqp.queues
        for name in sorted(marie.executors()):
            queue = marie.settings.queue_of(name)
            if queue not in queues:
                queues.select_add(queues.new_missing(queue))
        # After that: which queues of plain tasks are served is for Celery and the user to say.
        adopt_plain_tasks(app, marie.settings)

    def report_unknown_task(sender: Any = None, name: str = "", id: str = "", **_: Any) -> None:
        if not is_attempt(id) or getattr(sender, "app", None) is not app:
            return
        job, token = split_attempt(id)
        error = {"type": "NotRegistered", "message": f"worker {sender.hostname} does not know the task '{name}'"}
        try:
            marie.store.fail(job, token, sender.hostname, FailureKind.FAILURE, error)
        except RedisError as problem:
            log.warning("could not report the unknown task %s (%s)", name, problem)

    def cancel_revoked(sender: Any = None, request: Any = None, expired: bool = False, **_: Any) -> None:
        """`revoke` from Flower or the command line cancels the job; a stale attempt's cancels nothing."""
        if request is None or not is_attempt(request.id) or getattr(sender, "app", None) is not app:
            return
        job, token = split_attempt(request.id)
        try:
            marie.store.cancel_job(job, "revoked", request.hostname or "", token=token)
        except (RedisError, UnknownJob) as problem:
            log.warning("could not cancel the revoked %s (%s)", request.id, problem)

    def open_line(**_: Any) -> None:
        """In a process that runs one job at a time."""
        if current_app._get_current_object() is app:
            marie.store.open_line(marie.settings.look_seconds)

    uid = f"marie-{id(app)}"
    signals.worker_process_init.connect(open_line, weak=False, dispatch_uid=f"{uid}-line")
    signals.celeryd_init.connect(serve_all_executors, weak=False, dispatch_uid=f"{uid}-queues")
    signals.task_revoked.connect(cancel_revoked, weak=False, dispatch_uid=f"{uid}-revoked")
    signals.task_unknown.connect(report_unknown_task, weak=False, dispatch_uid=f"{uid}-unknown")

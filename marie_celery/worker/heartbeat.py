"""The heartbeat of a worker: capacity out, leases renewed, orders to stop in. One thread in the parent process.

A thread, because the parent's event loop may be busy and must not delay it; in the parent, because a wedged or
dead child must not be able to keep its own lease alive.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from typing import Any

from celery import bootsteps
from celery.worker import state
from redis import RedisError

from marie_celery.extension import Marie
from marie_celery.worker.task import is_attempt

log = logging.getLogger(__name__)


class Heartbeat(bootsteps.StartStopStep):  # type: ignore[misc]
    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, worker: Any) -> None:
        self._stop.clear()
        self._thread = threading.Thread(target=self._beat, args=(worker,), name="marie-heartbeat", daemon=True)
        self._thread.start()

    def stop(self, worker: Any) -> None:
        if self._thread is None:
            return
        self._stop.set()
        self._thread.join(timeout=5)
        self._thread = None
        try:
            Marie.of(worker.app).store.leave(worker.hostname)
        except RedisError as error:
            log.warning("could not say good-bye (%s); the scheduler will notice", error)

    terminate = stop

    def _beat(self, worker: Any) -> None:
        marie = Marie.of(worker.app)
        interval = marie.settings.heartbeat_seconds
        failing = False
        while True:
            try:
                for attempt in marie.store.renew(
                    worker.hostname, facts(worker), slots(marie, worker), reserved_attempts(), live_pids(worker)
                ):
                    stop_attempt(worker, attempt)
                failing = False
            except RedisError as error:
                if not failing:
                    log.warning("the heartbeat fails: %s", error)
                failing = True
            except Exception:
                log.exception("the heartbeat stumbled")
            if self._stop.wait(interval):
                return


def facts(worker: Any) -> dict[str, str]:
    return {
        "host": socket.gethostname(),
        "pid": str(os.getpid()),
        "pool": type(worker.pool).__module__.rpartition(".")[2],
    }


def slots(marie: Marie, worker: Any) -> dict[str, int]:
    """The executors that this worker serves, each with as many slots as it has processes or threads."""
    concurrency = getattr(worker.pool, "num_processes", None) or worker.concurrency
    queues = set(worker.app.amqp.queues.consume_from)
    return {name: concurrency for name in sorted(marie.executors()) if marie.settings.queue_of(name) in queues}


def live_pids(worker: Any) -> list[int]:
    """This process, and the children of a prefork pool. A dead child's job must not be kept alive by us."""
    children = getattr(getattr(worker.pool, "_pool", None), "_pool", None) or []
    return [os.getpid(), *(child.pid for child in children if getattr(child, "pid", None))]


def reserved_attempts() -> list[str]:
    """Received, but waiting inside this worker for a free process."""
    waiting = {request.id for request in list(state.reserved_requests)}
    running = {request.id for request in list(state.active_requests)}
    return [request for request in waiting - running if is_attempt(request)]


def stop_attempt(worker: Any, attempt: str) -> None:
    """Stop a job that was cancelled or overtaken. Pools that cannot end a task let it run out; it is fenced off."""
    request = state.requests.get(attempt)
    if request is None:
        return
    log.info("stopping %s", attempt)
    try:
        request.terminate(worker.pool, signal="TERM")
    except NotImplementedError:
        log.debug("%s cannot stop a running task", type(worker.pool).__name__)

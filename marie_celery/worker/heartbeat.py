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

from celery import bootsteps, signals
from celery.worker import state
from redis import RedisError

from marie_celery.errors import ConfigError
from marie_celery.extension import Marie
from marie_celery.payloads import Payloads
from marie_celery.store.patience import patient
from marie_celery.worker import coroutines
from marie_celery.worker.intake import Intake
from marie_celery.worker.task import is_attempt
from marie_celery.worker.watchdog import Watchdog

log = logging.getLogger(__name__)

LOST_PROCESS_SECONDS = 0.25


class Heartbeat(bootsteps.StartStopStep):  # type: ignore[misc]
    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        self._stop = threading.Event()
        self._beat_now = threading.Event()
        self._draining = False
        self._thread: threading.Thread | None = None
        self._worker = worker
        uid = f"marie-{id(worker)}"
        signals.worker_shutting_down.connect(self._drain, weak=False, dispatch_uid=f"{uid}-drain")
        signals.worker_shutdown.connect(self._leave, weak=False, dispatch_uid=f"{uid}-leave")

    def start(self, worker: Any) -> None:
        marie = Marie.of(worker.app)
        check_pool(marie, worker)
        Payloads.of(marie.store)  # a wrong setting ends the worker, not its jobs
        self._stop.clear()
        self._thread = threading.Thread(target=self._beat, args=(worker,), name="marie-heartbeat", daemon=True)
        self._thread.start()

    def register_with_event_loop(self, worker: Any, hub: Any) -> None:
        """Celery looks for lost processes every five seconds, as long as nothing else makes it look."""
        hub.call_repeatedly(LOST_PROCESS_SECONDS, worker.pool.maintain_pool)

    def stop(self, worker: Any) -> None:
        """A warm shutdown: the pool is still finishing what runs, and its leases need us until it is done."""
        self._drain()

    def terminate(self, worker: Any) -> None:
        """A cold one: what runs is killed, and handed back."""
        self._leave(sender=worker)

    def _drain(self, **_: Any) -> None:
        """From now on nothing more is sent here."""
        self._draining = True
        self._beat_now.set()

    def _leave(self, sender: Any = None, **_: Any) -> None:
        if sender is not self._worker or self._thread is None:
            return
        self._stop.set()
        self._beat_now.set()
        self._thread.join(timeout=5)
        self._thread = None
        try:
            returned = Marie.of(self._worker.app).store.leave(self._worker.hostname)
            if returned:
                log.info("handed back %d jobs", returned)
        except RedisError as error:
            log.warning("could not say good-bye (%s); the scheduler will notice", error)

    def _beat(self, worker: Any) -> None:
        marie = Marie.of(worker.app)
        interval = marie.settings.heartbeat_seconds
        watchdog = Watchdog(marie.settings.lease_ttl_seconds)
        intake = Intake(worker)
        failing = False
        while True:
            try:
                messages = watchdog.look(messages_in_hand(), concurrency(worker), is_connected(worker))
                about = {**facts(worker), "trouble": watchdog.trouble}
                offered = {} if self._draining or watchdog.trouble else slots(marie, worker)
                with patient(interval):
                    orders = marie.store.renew(worker.hostname, about, offered, messages)
                    is_drained = marie.store.is_draining(worker.hostname)
                if is_connected(worker):
                    intake.follow(is_drained, {marie.settings.queue_of(name) for name in marie.executors()})
                for message in orders:
                    stop_message(worker, message)
                failing = False
            except RedisError as error:
                if not failing:
                    log.warning("the heartbeat fails: %s", error)
                failing = True
            except Exception:
                log.exception("the heartbeat stumbled")
            self._beat_now.wait(interval)
            self._beat_now.clear()
            if self._stop.is_set():
                return


def check_pool(marie: Marie, worker: Any) -> None:
    """Greenlets share one thread, which can run one event loop: two coroutines at a time could not run."""
    pool = facts(worker)["pool"]
    if pool not in ("gevent", "eventlet"):
        return
    served = slots(marie, worker)
    for _, made in sorted(marie.tasks().items()):
        if made.is_async and made.job_options.executor in served:
            raise ConfigError(
                f"the {pool} pool cannot run the coroutine {made.name}: serve the executor '{made.executor}' "
                "with -P threads, prefork or solo"
            )


def facts(worker: Any) -> dict[str, str]:
    return {
        "host": socket.gethostname(),
        "pid": str(os.getpid()),
        "pool": type(worker.pool).__module__.rpartition(".")[2],
    }


def slots(marie: Marie, worker: Any) -> dict[str, int]:
    """The executors that this worker serves, each with as many slots as it has processes or threads."""
    queues = set(worker.app.amqp.queues.consume_from)
    served = [name for name in sorted(marie.executors()) if marie.settings.queue_of(name) in queues]
    return dict.fromkeys(served, concurrency(worker))


def concurrency(worker: Any) -> int:
    return int(getattr(worker.pool, "num_processes", None) or worker.concurrency)


def is_connected(worker: Any) -> bool:
    """Does the worker take messages? Its consumer drops the connection that failed before it makes another."""
    consumer = getattr(worker, "consumer", None)
    return None not in (consumer, getattr(consumer, "connection", None), getattr(consumer, "task_consumer", None))


def messages_in_hand() -> dict[str, bool]:
    """Our messages that this worker has received and not finished: has a process begun it? A lost child's are gone from
    here at once."""
    # A copy first: the worker's own thread adds requests while this one looks.
    requests = list(state.requests.values())
    return {request.id: request.time_start is not None for request in requests if is_attempt(request.id)}


def stop_message(worker: Any, message: str) -> None:
    """Stop a job that was cancelled or overtaken. Pools that cannot end a task can cancel a coroutine; anything else
    runs out, and is fenced off."""
    request = state.requests.get(message)
    if request is None:
        return
    log.info("stopping %s", message)
    try:
        request.terminate(worker.pool, signal="TERM")
    except NotImplementedError:
        if not coroutines.stop(message):
            log.debug("%s cannot stop a running task", type(worker.pool).__name__)

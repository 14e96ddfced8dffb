"""A scheduler process: one graph of nodes, driven by the cooperative runtime.

                        orders                      control
    listener ──▶ inbox ────────────▶ surveyor
        │                              ▲  │ outlook
        └─ wake ─▶ agenda ── due ──────┘  ▼
                     ▲  │ due           planner ── plan ──▶ dispatcher ─┐
                     │  └──▶ promoter, reranker, watcher, supplier,     │
                     │       advancer, expander, reaper, reconciler,    │
                     │       pruner, alerter, cron, herald ─┐           │
                     └──────────── turns ─────────────┴─────────────────┘

The agenda knows when each duty is due; what wakes it comes from Redis through the listener's thread.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Callable
from typing import Any

import redis

from marie_celery.archive import sink_of
from marie_celery.clock import Clock, SystemClock
from marie_celery.extension import Marie
from marie_celery.flow import LATEST, Band, Scheduler, SchedulerConfig
from marie_celery.scheduler.agenda import Agenda
from marie_celery.scheduler.alerter import alerter
from marie_celery.scheduler.cron import Cron
from marie_celery.scheduler.expander import expander
from marie_celery.scheduler.herald import Herald
from marie_celery.scheduler.housekeeping import Pruner, Reconciler
from marie_celery.scheduler.inbox import Inbox
from marie_celery.scheduler.listener import Listener
from marie_celery.scheduler.picture import picture
from marie_celery.scheduler.planners import Dispatcher, Planner, Surveyor
from marie_celery.scheduler.policy import put_in_force
from marie_celery.scheduler.services import Advancer, Reaper, Service, Timed
from marie_celery.scheduler.supplier import Supplier
from marie_celery.store.connection import connect
from marie_celery.store.store import Store
from marie_celery.transport.transports import Transport, choose_transport

log = logging.getLogger(__name__)

RERANKS_PER_TURN = 3


class SchedulerProcess:
    """Any number of them may run; none is a leader. `stop` is safe from signal handlers and other threads."""

    def __init__(self, marie: Marie, clock: Clock | None = None) -> None:
        self.id = f"{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(2)}"
        self._marie = marie
        self._clock = clock or SystemClock()
        self._since = self._clock.monotonic()
        self.graph = Scheduler(SchedulerConfig(idle_sleep_ms=1_000, shutdown_timeout_s=5.0), clock=self._clock)

    def stop(self) -> None:
        self.graph.shutdown()

    def picture(self) -> dict[str, Any]:
        return picture(self.graph.stats(), self._clock.monotonic() - self._since)

    def run(self, on_start: Callable[[str, str], None] | None = None) -> None:
        """Until `stop`. Errors of Redis are reported and waited out, they never end the process."""
        marie = self._marie
        for warning in marie.check():
            log.warning("%s", warning)
        store = marie.store
        surveyor = Surveyor(store)
        herald = Herald(store, self.id, marie.settings, self.picture, lambda: surveyor.is_paused)
        herald.announce()
        planner = put_in_force(store, marie.settings)
        transport = choose_transport(marie.app, store)
        self._build(store, transport, surveyor, herald)
        # No second try behind its back: a wake-up may be lost with the first.
        listener = Listener(
            lambda: connect(marie.url, wait_seconds=0.0), store.keys.commands(self.id), store.keys.wake, self.graph
        )
        listener.start()
        try:
            if on_start:
                on_start(transport.name, planner)
            self.graph.run()
        finally:
            listener.stop()
            transport.close()
            try:
                store.retire(self.id)
            except redis.RedisError as error:
                log.warning("could not say good-bye (%s); the lease will tell", error)

    def _build(self, store: Store, transport: Transport, surveyor: Surveyor, herald: Herald) -> None:
        settings, graph = self._marie.settings, self.graph
        dispatcher = Dispatcher(store, transport)
        duties: list[Service] = [
            surveyor,
            Timed("promoter", store.promote),
            Timed("reranker", store.rerank, batches=RERANKS_PER_TURN),
            Timed("watcher", store.watch),
            Timed("supplier", Supplier(store, settings).step),
            Advancer(store),
            expander(store),
            Reaper(store, self._clock),
            Reconciler(store),
            Pruner(store, sink_of(settings.archive)),
            alerter(store, settings.alert_webhook, allow_private=settings.alert_allow_private),
            Cron(store, self._marie.submit, self._marie.app.main or ""),
            herald,
        ]
        graph.register(Inbox(store, settings, self.picture, graph.shutdown))
        graph.register(Agenda([duty.name for duty in duties], self._clock))
        graph.register(Planner(store, settings))
        graph.register(dispatcher)
        for duty in duties:
            graph.register(duty)
            # One message says all that two would, and an edge that never blocks makes the circle safe.
            graph.connect(f"agenda:{duty.name}", f"{duty.name}:due", capacity=1, policy=LATEST)
        for duty in (*duties, dispatcher):
            graph.connect(f"{duty.name}:turn", "agenda:turns")
        graph.connect("inbox:orders", "surveyor:orders", priority=Band.CONTROL)
        graph.connect("surveyor:outlook", "planner:outlook", capacity=1, priority=Band.HIGH)
        graph.connect("planner:plan", "dispatcher:plan", capacity=1, priority=Band.HIGH)
        graph.inlet("inbox:commands", priority=Band.CONTROL)
        graph.inlet("agenda:wake", capacity=1, policy=LATEST, priority=Band.HIGH)

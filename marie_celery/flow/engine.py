"""The loop: one turn after the other, and what to do when there is none.

Everything here runs in one thread, except `notice`, `request_stop` and `wait`. Other threads change an edge
and leave a notice; the loop reads the notices before its next message.
"""

from __future__ import annotations

import logging
import threading
from collections import deque

from marie_celery.clock import Clock
from marie_celery.flow.bands import BANDS, IDLE, ReadyQueues, weights_of
from marie_celery.flow.callbacks import Callbacks
from marie_celery.flow.config import SchedulerConfig
from marie_celery.flow.drain import detach_remote, left_behind, owes_work
from marie_celery.flow.errors import NodeFailed
from marie_celery.flow.memory import LockedEdge
from marie_celery.flow.metrics import Metrics
from marie_celery.flow.state import Link, NodeState
from marie_celery.flow.stats import Report
from marie_celery.flow.ticks import Ticks
from marie_celery.flow.timers import CLOSE_ENOUGH_S, Timers
from marie_celery.flow.traffic import Traffic
from marie_celery.flow.waiter import Waiter
from marie_celery.flow.wiring import Wiring

logger = logging.getLogger("marie_celery.flow")

ERROR_PAUSE_S = 1.0
"""After a waiter that raised. Nothing can end this pause early, so it is short."""


class Engine:
    def __init__(
        self,
        wiring: Wiring,
        config: SchedulerConfig,
        clock: Clock,
        waiter: Waiter,
        metrics: Metrics | None,
    ) -> None:
        self.wiring = wiring
        self.turns = [0] * len(BANDS)
        self.waits = 0
        self.errors = 0
        self._errors_lock = threading.Lock()
        self.busy_s = 0.0
        self.longest_turn_s = 0.0
        self._config = config
        self._clock = clock
        self._waiter = waiter
        self._metrics = metrics
        self._idle_s = config.idle_sleep_ms / 1000
        self._mail: deque[Link] = deque()
        self._timers = Timers()
        self._ready = ReadyQueues(weights_of(config.fairness_ratio))
        self._traffic = Traffic(self._ready, self._timers, clock, metrics, self.report, self._idle_s)
        self._ticks = Ticks(self._timers, self._traffic, clock, config.tick_interval_ms)
        self._callbacks = Callbacks(self._traffic, self._ticks, self._timers, clock, self.report)
        self._remote = [link for link in wiring.links.values() if link.remote]
        self._started: list[NodeState] = []
        self._stop_is_requested = False
        self._drain_began: float | None = None
        for link in wiring.links.values():
            sends, takes = link.source is not None, link.target is not None
            link.edge.attach(_Listener(self, link), sends=sends, takes=takes)

    @property
    def failure(self) -> NodeFailed | None:
        return self._callbacks.failure

    def notice(self, link: Link) -> None:
        """From any thread: look at this link again."""
        # The flag bounds the mailbox. It is lowered before the link is looked at, so no change is missed.
        if not link.is_noticed:
            link.is_noticed = True
            self._mail.append(link)
            self._waiter.wake()

    def request_stop(self) -> None:
        """From any thread."""
        self._stop_is_requested = True
        self._waiter.wake()

    def report(self, where: str, hook: str, error: Exception) -> None:
        # A merge function may fail in any thread, and `+=` is not one step.
        with self._errors_lock:
            self.errors += 1
        logger.warning("%s: %s failed: %r", where, hook, error, exc_info=error)
        if self._metrics is not None:
            self._metrics.failed(where, hook, error)

    def start(self) -> None:
        for node in self.wiring.nodes.values():
            self._started.append(node)
            self._callbacks.start(node)
            if self.failure is not None:
                return
        now = self._clock.monotonic()
        for node in self.wiring.nodes.values():
            self._ticks.prime(node, now)
        if self._remote:
            self._look_outside_regularly()

    def step(self) -> float | None:
        """One turn: 0.0. Nothing ready: the seconds that may be waited. All over: None."""
        now = self._clock.monotonic()
        if self._mail:
            self._read_mail()
        if self._timers.next_due <= now + CLOSE_ENOUGH_S:
            self._timers.run_due(now)
        if self.failure is not None:
            return None
        patience = self._idle_s
        if self._stop_is_requested:
            if self._drain_began is None:
                self._begin_drain(now)
            patience = self._drain_ends - now
            if patience <= CLOSE_ENOUGH_S:
                return None
        next_one = self._ready.pop()
        if next_one is not None:
            self._turn(*next_one, began=now)
            return 0.0
        if self._drain_began is not None and not owes_work(self.wiring):
            return None
        return min(patience, self._idle_s, self._timers.next_due - now)

    def wait(self, seconds: float) -> bool:
        """Touches nothing of the loop, so that it may run in a helper thread."""
        try:
            return self._waiter.wait(seconds)
        except Exception as error:
            self.report("waiter", "wait", error)
            self._clock.sleep(min(seconds, ERROR_PAUSE_S))
            return True

    def waited(self, seconds: float, something_happened: bool) -> None:
        self.waits += 1
        if self._metrics is not None:
            self._metrics.waited(seconds)
        if something_happened:
            self._look_outside()

    def finish(self) -> Report:
        """Stops the nodes, consumers first, and tells what is left."""
        self._close_gates()
        began = self._drain_began
        report = left_behind(self.wiring, 0.0 if began is None else self._clock.monotonic() - began)
        while self._started:
            self._callbacks.stop(self._started.pop())
        if not report.is_drained:
            logger.warning("left in edges: %s; left in nodes: %s", report.left_in_edges, report.left_in_nodes)
        return report

    def _turn(self, node: NodeState, rank: int, began: float) -> None:
        strand = node.data if node.control.rank_of_work() == IDLE else node.control
        # Control that is already waiting was passed over by the ratio, so this turn is due in full. Control
        # that shows up during a turn of data ends it.
        gives_way = strand is node.data and not self._ready.control_is_waiting
        messages = 0
        for _ in range(self._config.max_batch_per_node):
            handled = self._callbacks.work(strand)
            if handled is None:
                break
            messages += handled
            if self._mail:
                self._read_mail()
            if not strand.is_open or self.failure is not None:
                break
            if gives_way and self._ready.control_is_waiting:
                break
        self._traffic.resume_producers()
        self._traffic.refresh(node)
        self._account(node, rank, messages, self._clock.monotonic() - began)

    def _account(self, node: NodeState, rank: int, messages: int, seconds: float) -> None:
        counters = node.counters
        counters.turns += 1
        counters.seconds += seconds
        counters.longest_turn_s = max(counters.longest_turn_s, seconds)
        self.turns[rank] += 1
        self.busy_s += seconds
        self.longest_turn_s = max(self.longest_turn_s, seconds)
        if self._metrics is not None:
            self._metrics.turn(node.name, BANDS[rank], messages, seconds)

    def _read_mail(self) -> None:
        # Only what is there now: a thread that injects without pause must not keep the loop here.
        for _ in range(len(self._mail)):
            link = self._mail.popleft()
            link.is_noticed = False
            self._look_at(link)

    def _look_outside(self) -> None:
        for link in self._remote:
            self._look_at(link)

    def _look_at(self, link: Link) -> None:
        if link.remote:
            try:
                link.edge.refresh()
            except Exception as error:
                self.report(link.id, "refresh", error)
        self._traffic.look(link)

    def _look_outside_regularly(self) -> None:
        self._look_outside()
        self._timers.at(self._clock.monotonic() + self._idle_s, self._look_outside_regularly)

    @property
    def _drain_ends(self) -> float:
        return (self._drain_began or 0.0) + self._config.shutdown_timeout_s

    def _begin_drain(self, now: float) -> None:
        self._drain_began = now
        self._ticks.end()
        self._close_gates()
        for link in self._remote:
            detach_remote(link)
        for node in self.wiring.nodes.values():
            node.tick_is_due = False
            self._traffic.refresh(node)

    def _close_gates(self) -> None:
        for link in self.wiring.gates.values():
            if isinstance(link.edge, LockedEdge):
                link.edge.close()
                self._traffic.look(link)


class _Listener:
    def __init__(self, engine: Engine, link: Link) -> None:
        self._engine = engine
        self._link = link

    def changed(self) -> None:
        self._engine.notice(self._link)

    def failed(self, error: Exception) -> None:
        self._engine.report(self._link.id, "edge", error)

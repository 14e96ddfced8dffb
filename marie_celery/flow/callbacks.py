"""Calls the nodes, and does what their error policy says when they raise."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from marie_celery.clock import Clock
from marie_celery.flow.bands import NORMAL_RANK
from marie_celery.flow.errors import NodeFailed
from marie_celery.flow.message import Failure, Kind, Message
from marie_celery.flow.port import ERRORS_PORT
from marie_celery.flow.state import Delivery, Inlet, Link, NodeState, Strand
from marie_celery.flow.ticks import Ticks
from marie_celery.flow.timers import Timers
from marie_celery.flow.traffic import ReportError, Traffic


class Callbacks:
    def __init__(
        self, traffic: Traffic, ticks: Ticks, timers: Timers, clock: Clock, report: ReportError
    ) -> None:
        self._traffic = traffic
        self._ticks = ticks
        self._timers = timers
        self._clock = clock
        self._report = report
        self.failure: NodeFailed | None = None

    def work(self, strand: Strand) -> int | None:
        """One piece of work of an open strand: how many messages it handled, None if there was nothing."""
        delivery = strand.delivery
        if strand.outbox:
            if self._traffic.flush(strand) and delivery is not None:
                self._settle(strand, delivery.inlet, delivery.message)
            return 0
        if delivery is not None:
            return self._deliver(strand, delivery.inlet, delivery.message, delivery.attempt)
        node = strand.node
        if node.tick_is_due and strand is node.data:
            node.tick_is_due = False
            node.counters.ticks += 1
            self._call(node, "on_tick", node.unit.on_tick, may_emit=True)
            self._ticks.schedule(node)
            return 0
        inlet = strand.next_inlet()
        if inlet is None:
            return None
        strand.rank = inlet.rank
        message = self._traffic.take(strand, inlet)
        return 0 if message is None else self._deliver(strand, inlet, message, 0)

    def start(self, node: NodeState) -> None:
        self._call(node, "on_start", node.unit.on_start, may_emit=True)

    def stop(self, node: NodeState) -> None:
        self._call(node, "on_stop", node.unit.on_stop, may_emit=False)

    def _call(self, node: NodeState, hook: str, callback: Callable[[], None], *, may_emit: bool) -> None:
        unit = node.unit
        node.trace_id = None
        unit._outlet = node if may_emit else None
        failed: Exception | None = None
        try:
            callback()
        except Exception as error:
            failed = error
        finally:
            unit._outlet = None
            staged, node.staged = node.staged, []
        if failed is not None:
            self._count(node, hook, failed)
            if unit.error_policy.stops:
                self._fail(node, hook, failed)
        elif staged:
            node.data.rank = NORMAL_RANK
            self._traffic.commit(node.data, staged)

    def _deliver(self, strand: Strand, inlet: Inlet, message: Message, attempt: int) -> int:
        node = strand.node
        unit = node.unit
        node.trace_id = message.trace_id
        unit._outlet = node
        failed: Exception | None = None
        link = inlet.link
        try:
            if link.remote and link.contract is not None:
                link.contract.check(message)
            unit.on_message(link.port, message)
        except Exception as error:
            failed = error
        finally:
            unit._outlet = None
            staged, node.staged = node.staged, []
        if failed is None:
            node.counters.messages += 1
            self._conclude(strand, inlet, message, staged)
        else:
            self._failed(strand, Delivery(inlet, message, attempt), failed)
        return 1

    def _conclude(
        self, strand: Strand, inlet: Inlet, message: Message, staged: list[tuple[Link, Message]]
    ) -> None:
        if staged and not self._traffic.commit(strand, staged):
            strand.delivery = Delivery(inlet, message, 0)
        else:
            self._settle(strand, inlet, message)

    def _settle(self, strand: Strand, inlet: Inlet, message: Message) -> None:
        self._traffic.settle(inlet, message)
        if strand.delivery is not None:
            strand.delivery = None
            self._traffic.place(inlet.link)

    def _failed(self, strand: Strand, delivery: Delivery, error: Exception) -> None:
        node = strand.node
        policy = node.unit.error_policy
        self._count(node, "on_message", error)
        if policy.action == "retry" and delivery.attempt < policy.retries:
            delivery.attempt += 1
            strand.delivery = delivery
            if policy.delay_ms:
                strand.is_delayed = True
                due = self._clock.monotonic() + policy.delay_ms / 1000
                self._timers.at(due, partial(self._end_delay, strand))
        elif policy.stops:
            strand.delivery = delivery
            self._fail(node, "on_message", error)
        else:
            node.counters.skipped += 1
            self._conclude(strand, delivery.inlet, delivery.message, _error_messages(node, delivery, error))

    def _end_delay(self, strand: Strand) -> None:
        strand.is_delayed = False
        self._traffic.refresh(strand.node)

    def _count(self, node: NodeState, hook: str, error: Exception) -> None:
        node.counters.errors += 1
        self._report(node.name, hook, error)

    def _fail(self, node: NodeState, hook: str, error: Exception) -> None:
        if self.failure is None:
            self.failure = NodeFailed(node.name, hook, error)
            self.failure.__cause__ = error


def _error_messages(node: NodeState, delivery: Delivery, error: Exception) -> list[tuple[Link, Message]]:
    if ERRORS_PORT not in node.outputs:
        return []
    failed = delivery.message
    failure = Failure(node.name, delivery.inlet.link.port, failed, error)
    message = Message(failure, Kind.ERROR, failed.headers, failed.trace_id)
    return [(link, message) for link in node.outputs[ERRORS_PORT][1]]

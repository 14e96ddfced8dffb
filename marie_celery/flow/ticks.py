"""Gives nodes their ticks.

The next tick is planned when the last one has run. So a node that cannot tick now, because its output is
blocked, costs no wake-ups, and gets one tick when it can go on instead of all that it missed.
"""

from __future__ import annotations

from functools import partial

from marie_celery.clock import Clock
from marie_celery.flow.node import Node
from marie_celery.flow.state import NodeState
from marie_celery.flow.timers import Cadence, Timers
from marie_celery.flow.traffic import Traffic


class Ticks:
    def __init__(self, timers: Timers, traffic: Traffic, clock: Clock, default_interval_ms: float) -> None:
        self._timers = timers
        self._traffic = traffic
        self._clock = clock
        self._default_interval_ms = default_interval_ms
        self._is_over = False

    def prime(self, node: NodeState, now: float) -> None:
        if type(node.unit).on_tick is not Node.on_tick:
            interval_ms = node.unit.tick_interval_ms or self._default_interval_ms
            node.cadence = Cadence(interval_ms / 1000, now)
            self.schedule(node)

    def schedule(self, node: NodeState) -> None:
        if node.cadence is not None and not self._is_over:
            due = node.cadence.next_after(self._clock.monotonic())
            self._timers.at(due, partial(self._tick_is_due, node))

    def end(self) -> None:
        """A drain ends only if nothing new comes in, and ticks are where sources make new messages."""
        self._is_over = True

    def _tick_is_due(self, node: NodeState) -> None:
        if not self._is_over:
            node.tick_is_due = True
            self._traffic.refresh(node)

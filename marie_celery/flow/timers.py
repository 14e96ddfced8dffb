"""Things to do at a time: ticks, retries, looks at remote edges."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable

CLOSE_ENOUGH_S = 1e-9
"""Sums of floats may miss a due time by a hair; waiting for the hair would never end on a virtual clock."""


class Timers:
    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self.next_due = math.inf

    def at(self, due: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._heap, (due, next(self._order), action))
        self.next_due = self._heap[0][0]

    def run_due(self, now: float) -> None:
        while self._heap and self._heap[0][0] <= now + CLOSE_ENOUGH_S:
            _, _, action = heapq.heappop(self._heap)
            action()
        self.next_due = self._heap[0][0] if self._heap else math.inf


class Cadence:
    """Due times on a fixed grid: a late tick does not shift the next, and missed ones are not made up."""

    def __init__(self, interval: float, start: float) -> None:
        self._interval = interval
        self._start = start
        self._count = 0

    def next_after(self, now: float) -> float:
        passed = math.floor((now - self._start) / self._interval + CLOSE_ENOUGH_S)
        self._count = max(self._count, passed) + 1
        return self._start + self._count * self._interval

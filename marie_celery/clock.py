"""Clocks. Nothing else in the package calls `time.*`.

Stored times are Redis times (milliseconds since the epoch, read inside the scripts). Processes measure
intervals with a monotonic clock, so a jump of the wall clock changes nothing.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Seconds for measuring intervals; only differences have a meaning."""

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...

    def epoch_us(self) -> int:
        """Microseconds since 1970, for what has no Redis to ask."""
        ...


class SystemClock:
    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def epoch_us(self) -> int:
        return time.time_ns() // 1000


class VirtualClock:
    """A clock that moves only when told to (or when somebody sleeps on it)."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def epoch_us(self) -> int:
        return round(self._now * 1_000_000)

    def advance(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError(f"a clock cannot go back ({seconds} s)")
        self._now += seconds

"""How long the scheduler may sleep when nothing wakes it. Events wake it at once; this is only the safety net."""

from __future__ import annotations

WORKING = 0.25
SLOTS_FREE = 1.0
INITIAL = 2.25
IDLE = 8.0


class Pace:
    LONGEST = IDLE

    def __init__(self, first: float = INITIAL) -> None:
        self._next = first

    def after(self, *, worked: bool, slots_free: bool) -> float:
        if worked:
            self._next = WORKING
        elif slots_free:
            self._next = SLOTS_FREE
        return self._longer()

    def after_error(self) -> float:
        return self._longer()

    def _longer(self) -> float:
        seconds = self._next
        self._next = min(IDLE, seconds * 2)
        return seconds

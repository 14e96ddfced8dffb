"""How long the scheduler may sleep when nothing wakes it. Events wake it at once; this is only the safety net."""

from __future__ import annotations

WORKING = 0.25
SLOTS_FREE = 1.0
INITIAL = 2.25
IDLE = 8.0


class Pace:
    LONGEST = IDLE

    def __init__(self) -> None:
        self._seconds = INITIAL

    def after(self, *, worked: bool, slots_free: bool) -> float:
        if worked:
            self._seconds = WORKING
        elif slots_free:
            self._seconds = SLOTS_FREE
        else:
            self._back_off()
        return self._seconds

    def after_error(self) -> float:
        self._back_off()
        return self._seconds

    def _back_off(self) -> None:
        self._seconds = min(IDLE, self._seconds * 2)

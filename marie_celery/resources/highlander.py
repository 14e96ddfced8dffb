"""There can be only one that runs, and one that waits. Under each key, if the jobs have keys."""

from __future__ import annotations

from typing import Any

from marie_celery.resources.booking import NOTHING, Answer, Booking, Delta, Request, refuse_other_changes


class HighlanderManager:
    def __init__(self) -> None:
        self._running: dict[str, str] = {}
        self._waiting: dict[str, str] = {}

    def enqueue(self, holder: str, key: str = "") -> str:
        """Ask to wait. Returns who waits now: this one, or the one that was first."""
        return self._waiting.setdefault(key, holder)

    def look(self, holder: str, request: Request, now_ms: int) -> Booking:
        if request.amount == 0:
            return NOTHING
        running = self._running.get(request.key, holder)
        return Booking(Answer.BOOKED if running == holder and self.can_ever(request) else Answer.EXHAUSTED)

    def book(self, holder: str, request: Request, now_ms: int) -> Booking:
        booking = self.look(holder, request, now_ms)
        if booking.answer is Answer.BOOKED and request.amount:
            self._running[request.key] = holder
            if self._waiting.get(request.key) == holder:
                del self._waiting[request.key]
        return booking

    def release(self, holder: str) -> None:
        """Whether it ran or waited."""
        for places in (self._running, self._waiting):
            for key in [key for key, one in places.items() if one == holder]:
                del places[key]

    def resize(self, delta: Delta, now_ms: int) -> None:
        refuse_other_changes("highlander", delta)

    def can_ever(self, request: Request) -> bool:
        return request.amount <= 1

    def state(self) -> dict[str, Any]:
        return {"kind": "highlander", "running": dict(self._running), "waiting": dict(self._waiting)}

"""At most so many at once under each key: per customer, per host, per account."""

from __future__ import annotations

from typing import Any

from marie_celery.resources.booking import NOTHING, Answer, Booking, Delta, Request, answer_for, refuse_other_changes


class ConcurrencyManager:
    """Jobs without a key share one."""

    def __init__(self, limit: int = 1) -> None:
        self._limit = limit
        self._held: dict[str, dict[str, int]] = {}
        """Key → holder → how much."""

    def look(self, holder: str, request: Request, now_ms: int) -> Booking:
        held = self._held.get(request.key, {})
        if request.amount == 0 or holder in held:
            return NOTHING
        return Booking(answer_for(self._limit - sum(held.values()), request.amount))

    def book(self, holder: str, request: Request, now_ms: int) -> Booking:
        booking = self.look(holder, request, now_ms)
        if booking.answer is Answer.BOOKED and request.amount:
            self._held.setdefault(request.key, {}).setdefault(holder, request.amount)
        return booking

    def release(self, holder: str) -> None:
        for key in [key for key, held in self._held.items() if holder in held]:
            del self._held[key][holder]
            if not self._held[key]:
                del self._held[key]

    def resize(self, delta: Delta, now_ms: int) -> None:
        refuse_other_changes("concurrency", delta, "amount")
        if self._limit + delta.amount < 0:
            raise ValueError(f"a limit of {self._limit} cannot shrink by {-delta.amount}")
        self._limit += delta.amount

    def can_ever(self, request: Request) -> bool:
        return request.amount <= self._limit

    def state(self) -> dict[str, Any]:
        holders = {key: dict(held) for key, held in self._held.items()}
        return {"kind": "concurrency", "limit": self._limit, "holders": holders}

"""Units that can be sliced and shared: memory, licences, connections."""

from __future__ import annotations

from typing import Any

from marie_celery.resources.booking import NOTHING, Answer, Booking, Delta, Request, answer_for, refuse_other_changes


class QuantityManager:
    def __init__(self, quantity: int = 10) -> None:
        self._quantity = quantity
        self._held: dict[str, int] = {}

    @property
    def free(self) -> int:
        """Below zero while more is held than there is, after it shrank."""
        return self._quantity - sum(self._held.values())

    def look(self, holder: str, request: Request, now_ms: int) -> Booking:
        if request.amount == 0 or holder in self._held:
            return NOTHING
        return Booking(answer_for(self.free, request.amount))

    def book(self, holder: str, request: Request, now_ms: int) -> Booking:
        booking = self.look(holder, request, now_ms)
        if booking.answer is Answer.BOOKED and request.amount:
            self._held.setdefault(holder, request.amount)
        return booking

    def release(self, holder: str) -> None:
        self._held.pop(holder, None)

    def resize(self, delta: Delta, now_ms: int) -> None:
        refuse_other_changes("quantity", delta, "amount")
        if self._quantity + delta.amount < 0:
            raise ValueError(f"{self._quantity} units cannot shrink by {-delta.amount}")
        self._quantity += delta.amount

    def can_ever(self, request: Request) -> bool:
        return request.amount <= self._quantity

    def state(self) -> dict[str, Any]:
        return {"kind": "quantity", "quantity": self._quantity, "free": max(0, self.free), "holders": dict(self._held)}

"""So many per second, with a burst: a bucket that fills by time and is emptied by bookings.

Tokens are counted in thousand-millionths (nano-tokens), which makes the gain per millisecond an integer for any rate
given in millionths per second. No sum exceeds 2⁵³ as long as the burst stays below nine million, so floating-point
numbers (Lua's) hold them exactly. A token is spent for good: releasing a job gives nothing back.
"""

from __future__ import annotations

from typing import Any

from marie_celery.resources.booking import NOTHING, Answer, Booking, Delta, Request, refuse_other_changes

TOKEN = 1_000_000_000


def gain_of(rate: float) -> int:
    """Tokens per second as nano-tokens per millisecond."""
    return round(rate * (TOKEN // 1000))


class RateManager:
    def __init__(self, gain: int, burst: int) -> None:
        self._gain = gain
        self._burst = burst
        self._level = burst * TOKEN
        self._at_ms: int | None = None
        self._served: dict[str, int] = {}

    def _level_at(self, now_ms: int) -> int:
        passed = 0 if self._at_ms is None else max(0, now_ms - self._at_ms)
        return min(self._burst * TOKEN, self._level + passed * self._gain)

    def _settle(self, now_ms: int, spent: int = 0) -> None:
        self._level = self._level_at(now_ms) - spent
        self._at_ms = now_ms if self._at_ms is None else max(now_ms, self._at_ms)

    def look(self, holder: str, request: Request, now_ms: int) -> Booking:
        if request.amount == 0 or holder in self._served:
            return NOTHING
        level, wanted = self._level_at(now_ms), request.amount * TOKEN
        if wanted <= level:
            return Booking(Answer.BOOKED)
        answer = Answer.SHORT if level >= TOKEN else Answer.EXHAUSTED
        if not self.can_ever(request):
            return Booking(answer)
        since = now_ms if self._at_ms is None else max(now_ms, self._at_ms)
        return Booking(answer, retry_at_ms=since + -((level - wanted) // self._gain))

    def book(self, holder: str, request: Request, now_ms: int) -> Booking:
        booking = self.look(holder, request, now_ms)
        if booking.answer is Answer.BOOKED and request.amount and holder not in self._served:
            self._settle(now_ms, request.amount * TOKEN)
            self._served[holder] = request.amount
        return booking

    def release(self, holder: str) -> None:
        self._served.pop(holder, None)

    def resize(self, delta: Delta, now_ms: int) -> None:
        """A bucket that grows is not filled by that; one that shrinks spills."""
        refuse_other_changes("rate", delta, "amount", "rate")
        if self._burst + delta.amount < 1 or self._gain + delta.rate < 1:
            raise ValueError("a rate and its burst cannot shrink to nothing")
        self._settle(now_ms)
        self._burst += delta.amount
        self._gain += delta.rate
        self._level = min(self._level, self._burst * TOKEN)

    def can_ever(self, request: Request) -> bool:
        return request.amount <= self._burst

    def state(self) -> dict[str, Any]:
        return {
            "kind": "rate",
            "rate": self._gain * 1000 / TOKEN,
            "burst": self._burst,
            "tokens": self._level / TOKEN,
            "at_ms": self._at_ms,
        }

"""A manager of one's own for the tests: ships of some length come to berths of which each takes one ship."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from marie_celery.resources import Answer, Booking, Delta, Request

BERTHS = {"short": 10, "long": 30}


class Harbour:
    def __init__(self, ships: Mapping[str, str] | None = None) -> None:
        self._ships = dict(ships or {})
        """Berth → who lies there."""

    def look(self, holder: str, request: Request, now_ms: int) -> Booking:
        free = [name for name, length in BERTHS.items() if length >= request.amount and name not in self._ships]
        return Booking(Answer.BOOKED, (free[0],)) if free else Booking(Answer.EXHAUSTED)

    def book(self, holder: str, request: Request, now_ms: int) -> Booking:
        booking = self.look(holder, request, now_ms)
        for berth in booking.items:
            self._ships[berth] = holder
        return booking

    def release(self, holder: str) -> None:
        self._ships = {berth: ship for berth, ship in self._ships.items() if ship != holder}

    def resize(self, delta: Delta, now_ms: int) -> None:
        raise ValueError("a harbour is as large as it is")

    def can_ever(self, request: Request) -> bool:
        return request.amount <= max(BERTHS.values())

    def state(self) -> dict[str, Any]:
        return {"ships": self._ships}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        return cls(state["ships"])


class Stranded(Harbour):
    """Whose harbour master has fallen ill."""

    def book(self, holder: str, request: Request, now_ms: int) -> Booking:
        raise OSError("no harbour master")


class Forgetful(Harbour):
    """Whose book nobody can read."""

    def state(self) -> dict[str, Any]:
        return {"ships": object()}


class Unfinished:
    """Not a manager."""

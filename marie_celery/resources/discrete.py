"""Named items of which each has one user at a time: GPUs, ports, robots.

An item that is removed while somebody has it leaves when it is released; until then it can be added again, and is then
simply kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from marie_celery.resources.booking import NOTHING, Answer, Booking, Delta, Request, answer_for, refuse_other_changes

DEFAULT_ITEMS = tuple(f"item{number:02d}" for number in range(1, 11))


class DiscreteManager:
    def __init__(self, items: Iterable[str] = DEFAULT_ITEMS) -> None:
        self._holder_of: dict[str, str | None] = dict.fromkeys(items)
        """Item → who has it, in the order in which they are given out."""
        self._leaving: set[str] = set()

    def look(self, holder: str, request: Request, now_ms: int) -> Booking:
        if request.amount == 0:
            return NOTHING
        mine = tuple(item for item, owner in self._holder_of.items() if owner == holder)
        if mine:
            return Booking(Answer.BOOKED, mine)
        free = [item for item, owner in self._holder_of.items() if owner is None]
        answer = answer_for(len(free), request.amount)
        return Booking(answer, tuple(free[: request.amount]) if answer is Answer.BOOKED else ())

    def book(self, holder: str, request: Request, now_ms: int) -> Booking:
        booking = self.look(holder, request, now_ms)
        for item in booking.items:
            self._holder_of[item] = holder
        return booking

    def release(self, holder: str) -> None:
        for item in [item for item, owner in self._holder_of.items() if owner == holder]:
            self._holder_of[item] = None
            if item in self._leaving:
                self._drop(item)

    def resize(self, delta: Delta, now_ms: int) -> None:
        refuse_other_changes("discrete", delta, "add", "remove")
        for item in delta.remove:
            if item not in self._holder_of:
                continue
            if self._holder_of[item] is None:
                self._drop(item)
            else:
                self._leaving.add(item)
        for item in delta.add:
            self._leaving.discard(item)
            self._holder_of.setdefault(item, None)

    def _drop(self, item: str) -> None:
        del self._holder_of[item]
        self._leaving.discard(item)

    def can_ever(self, request: Request) -> bool:
        return request.amount <= len(self._holder_of) - len(self._leaving)

    def state(self) -> dict[str, Any]:
        return {"kind": "discrete", "items": dict(self._holder_of), "leaving": sorted(self._leaving)}


def item_variables(items: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """The environment variables that tell a job which items it has, by manager."""
    return {
        f"{prefix}_RM_DISCRETE_{name.upper()}_ITEMS": ",".join(booked)
        for name, booked in items.items()
        for prefix in ("MARIE", "JQM")
    }

"""Work that waits for a slot: by effective priority, first come first served among equals.

Entries of one priority age alike, so the oldest of each priority is always its best. The choice compares these heads
only, with their ageing at this very moment: nothing has to be raised by a clock, and nothing is ever out of date.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, NamedTuple, TypeVar

from marie_celery.model.ageing import effective_priority, promotions

Item = TypeVar("Item")


class Waiting(NamedTuple, Generic[Item]):
    item: Item
    since_ms: int


class WaitingLine(Generic[Item]):
    def __init__(self, starvation_timeout_ms: int) -> None:
        self._timeout_ms = starvation_timeout_ms
        self._by_priority: dict[int, OrderedDict[int, Waiting[Item]]] = {}
        self._numbers = 0
        self._size = 0
        self._promotions = 0

    def __len__(self) -> int:
        return self._size

    def put(self, priority: int, item: Item, now_ms: int) -> tuple[int, int]:
        """Returns its place, to be taken out by."""
        self._numbers += 1
        self._by_priority.setdefault(priority, OrderedDict())[self._numbers] = Waiting(item, now_ms)
        self._size += 1
        return priority, self._numbers

    def take(self, now_ms: int) -> Item:
        """Removes and returns the best at this moment."""
        place = min(
            (-effective_priority(priority, now_ms - head.since_ms, self._timeout_ms), number, priority)
            for priority, entries in self._by_priority.items()
            for number, head in [next(iter(entries.items()))]
        )
        return self._remove(place[2], place[1], now_ms)

    def remove(self, place: tuple[int, int], now_ms: int) -> bool:
        """False if it is not there any more."""
        priority, number = place
        if number not in self._by_priority.get(priority, ()):
            return False
        self._remove(priority, number, now_ms)
        return True

    def promotions(self, now_ms: int) -> int:
        """How often ageing has raised something, that which still waits included."""
        waiting = (
            promotions(priority, now_ms - entry.since_ms, self._timeout_ms)
            for priority, entries in self._by_priority.items()
            for entry in entries.values()
        )
        return self._promotions + sum(waiting)

    def _remove(self, priority: int, number: int, now_ms: int) -> Item:
        entries = self._by_priority[priority]
        entry = entries.pop(number)
        if not entries:
            del self._by_priority[priority]
        self._size -= 1
        self._promotions += promotions(priority, now_ms - entry.since_ms, self._timeout_ms)
        return entry.item

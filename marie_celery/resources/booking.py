"""What every resource manager understands: a request, a booking, a change of size.

A manager keeps who holds how much of one resource. It knows no clock (it is told the time), does no I/O, and all of its
numbers are integers, so that a script in Redis can do the same sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol


class Answer(StrEnum):
    BOOKED = "booked"
    EXHAUSTED = "exhausted"
    """Nothing is left."""
    SHORT = "short"
    """Some is left, not enough."""


@dataclass(frozen=True, slots=True)
class Request:
    """How much a job takes, and for managers that count by key, under which key."""

    amount: int = 1
    key: str = ""

    def __post_init__(self) -> None:
        if self.amount < 0:
            raise ValueError(f"a job cannot take {self.amount} of a resource")


@dataclass(frozen=True, slots=True)
class Booking:
    answer: Answer
    items: tuple[str, ...] = ()
    """The names of what was booked, where the resource has names."""
    retry_at_ms: int | None = None
    """When asking again may help by time alone; None = only a release or a resize helps."""


@dataclass(frozen=True, slots=True)
class Delta:
    """A change of size. Always a difference: two operators who both add one have added two."""

    amount: int = 0
    """Units, the burst of a rate, or the limit per key."""
    rate: int = 0
    """Nano-tokens per millisecond."""
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


NOTHING = Booking(Answer.BOOKED)
"""What a job gets that takes nothing."""


class Manager(Protocol):
    def look(self, holder: str, request: Request, now_ms: int) -> Booking:
        """What `book` would answer. Changes nothing."""

    def book(self, holder: str, request: Request, now_ms: int) -> Booking:
        """Take it if it is there. Asking again for the same holder gives what it has."""

    def release(self, holder: str) -> None:
        """Give back whatever this holder has; nothing happens if it has nothing."""

    def resize(self, delta: Delta, now_ms: int) -> None:
        """Grow or shrink. What is booked stays booked."""

    def can_ever(self, request: Request) -> bool:
        """Whether the request could be met if nobody else held anything."""

    def state(self) -> Mapping[str, Any]:
        """As JSON carries it."""


def refuse_other_changes(kind: str, delta: Delta, *allowed: str) -> None:
    """A change that means nothing to this kind of manager is a mistake of the caller."""
    for name in ("amount", "rate", "add", "remove"):
        if name not in allowed and getattr(delta, name):
            raise ValueError(f"a {kind} resource has no '{name}' to change")


def answer_for(free: int, wanted: int) -> Answer:
    if wanted <= free:
        return Answer.BOOKED
    return Answer.SHORT if free > 0 else Answer.EXHAUSTED

"""A manager of the user's own: a class that decides who may have what, in Python, for the whole cluster.

Jobs that need it stand in its line until they have a grant. A scheduler makes the manager from its state, tells it what
was given back, asks it for those who wait, and writes state and grants in one step, unless somebody else has done so
meanwhile. So however many schedulers run, decisions follow one another, and what was decided twice counts once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol, Self, cast

from marie_celery.errors import ConfigError
from marie_celery.resources.booking import Answer, Manager, Request

METHODS = ("look", "book", "release", "resize", "can_ever", "state", "from_state")


class OwnManager(Manager, Protocol):
    """`Class()` is one that nobody has asked yet."""

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """One that goes on where the other was when it told its `state`."""


@dataclass(frozen=True, slots=True)
class Applicant:
    holder: str
    request: Request
    may_be_passed: bool = False
    skips: int = 0


@dataclass(frozen=True, slots=True)
class Decision:
    state: Mapping[str, Any]
    grants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Holder → names of what it has, where there are names."""
    passed: str = ""
    """The first that was refused, and passed by others."""
    passes: int = 0
    retry_at_ms: int | None = None
    """When asking again may help by time alone."""


def manager_class(path: str) -> type[OwnManager]:
    """Raises ConfigError for a path that leads to no manager."""
    module, _, name = path.partition(":")
    try:
        found: Any = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"the manager '{path}' cannot be imported: {error}") from error
    missing = [method for method in METHODS if not callable(getattr(found, method, None))]
    if missing:
        raise ConfigError(f"the manager '{path}' has no method {', '.join(missing)}")
    return cast("type[OwnManager]", found)


def decide(
    manager: Manager, returned: Sequence[str], applicants: Sequence[Applicant], now_ms: int, max_skips: int
) -> Decision:
    """Who gets it now, the first in line first. Who can never be served stands in nobody's way."""
    for holder in returned:
        manager.release(holder)
    grants: dict[str, tuple[str, ...]] = {}
    head: Applicant | None = None
    passes, retries = 0, []
    for each in applicants:
        if head and (not head.may_be_passed or head.skips + passes >= max_skips):
            break
        booking = manager.book(each.holder, each.request, now_ms)
        if booking.answer is Answer.BOOKED:
            grants[each.holder] = tuple(booking.items)
            passes += head is not None
        elif manager.can_ever(each.request):
            head = head or each
            if booking.retry_at_ms is not None:
                retries.append(max(booking.retry_at_ms, now_ms + 1))
    passed = head.holder if head and passes else ""
    return Decision(manager.state(), grants, passed, passes, min(retries, default=None))

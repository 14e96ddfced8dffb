"""Booking across managers: all or nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from marie_celery.resources.booking import Answer, Booking, Manager, Request

Needs = Mapping[str, Request]
"""Manager → what a job takes of it."""


@dataclass(frozen=True, slots=True)
class Bookings:
    """The answer of several managers to one job."""

    answer: Answer
    """EXHAUSTED if one of them has nothing left, else SHORT if one has not enough."""
    items: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Manager → names of what was booked, where there are names."""
    refused_by: tuple[str, ...] = ()
    retry_at_ms: int | None = None
    """When asking again may help by time alone, for all that refused."""


def book_all(
    managers: Mapping[str, Manager], needs: Needs, holder: str, now_ms: int, *, full: Collection[str] = ()
) -> Bookings:
    """Book everything, or nothing at all. Managers in `full` count as empty, whatever they have."""
    answers = dict(_asked(managers, needs, holder, now_ms, full))
    refused = {name: booking for name, booking in answers.items() if booking.answer is not Answer.BOOKED}
    if refused:
        return _refusal(refused)
    for name in answers:
        managers[name].book(holder, needs[name], now_ms)
    return Bookings(Answer.BOOKED, {name: booking.items for name, booking in answers.items() if booking.items})


def _asked(
    managers: Mapping[str, Manager], needs: Needs, holder: str, now_ms: int, full: Collection[str]
) -> Iterator[tuple[str, Booking]]:
    for name in sorted(needs):
        if needs[name].amount == 0:
            continue  # it concerns nobody, not even a manager that is empty or unknown
        if name in full:
            yield name, Booking(Answer.EXHAUSTED)
        else:
            yield name, managers[name].look(holder, needs[name], now_ms)


def _refusal(refused: Mapping[str, Booking]) -> Bookings:
    moments = [booking.retry_at_ms for booking in refused.values()]
    known = [moment for moment in moments if moment is not None]
    return Bookings(
        Answer.EXHAUSTED if any(each.answer is Answer.EXHAUSTED for each in refused.values()) else Answer.SHORT,
        refused_by=tuple(refused),
        retry_at_ms=max(known) if len(known) == len(moments) else None,
    )


def impossible(managers: Mapping[str, Manager], needs: Needs) -> tuple[str, ...]:
    """The managers that could never give what is asked, even if nobody else held anything."""
    return tuple(name for name in sorted(needs) if needs[name].amount and not managers[name].can_ever(needs[name]))

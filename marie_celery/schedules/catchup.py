"""Which slot to fire when a scheduler looks, maybe late."""

from __future__ import annotations

from dataclasses import dataclass

from marie_celery.schedules.schedule import Catchup, Schedule

PUNCTUAL_MS = 60_000
"""A slot that is later than this was missed. Above every pause of a scheduler that is alive."""


@dataclass(frozen=True, slots=True)
class Choice:
    slot: int | None
    """None: what was due is left out."""
    next_slot: int | None
    """None: the schedule has ended."""


def choose(schedule: Schedule, next_slot: int, now_ms: int) -> Choice:
    """What follows when `next_slot` is due."""
    if schedule.catchup is Catchup.ALL:
        return Choice(next_slot, schedule.next_slot(next_slot))
    latest = _latest_due(schedule, next_slot, now_ms)
    missed = schedule.catchup is Catchup.NONE and now_ms - schedule.due_ms(latest) > PUNCTUAL_MS
    return Choice(None if missed else latest, schedule.next_slot(latest))


def _latest_due(schedule: Schedule, next_slot: int, now_ms: int) -> int:
    """Looks back further and further: after a year there may be half a million slots, and only one of them matters."""
    span = PUNCTUAL_MS + round(schedule.jitter * 1000)
    while True:
        begin = max(next_slot, now_ms - span)
        due = [slot for slot in schedule.slots(begin, now_ms) if schedule.due_ms(slot) <= now_ms]
        if due:
            return due[-1]
        if begin == next_slot:
            return next_slot
        span *= 4

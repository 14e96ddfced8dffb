"""Schedules in Redis. Their definitions are text here; what they mean is the business of `marie_celery.schedules`.

A slot is taken off the calendar by exactly one scheduler (`claim`), which then submits its run under a lease and
reports it (`fired`). If it dies in between, another goes on after the lease (`resume`); both use the run key of the
slot, so there is one run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from marie_celery.errors import ConfigError
from marie_celery.store.caller import Caller, in_ms
from marie_celery.store.codes import Code

MOST_WAITING = 1000
FIRE = "fire"


@dataclass(frozen=True, slots=True)
class DueSchedule:
    name: str
    definition: str
    slot: int | None
    """The slot that is due, if one is."""
    busy: bool
    """A slot is being fired, or waits."""


@dataclass(frozen=True, slots=True)
class Look:
    now_ms: int
    next_ms: int
    """Milliseconds until the next has something to do; -1 = not in sight."""
    due: Sequence[DueSchedule]


@dataclass(frozen=True, slots=True)
class ScheduleState:
    name: str
    definition: str
    fields: Mapping[str, str] = field(default_factory=dict)
    waiting: int = 0

    def number(self, name: str) -> int | None:
        return int(self.fields[name]) if name in self.fields else None


class Scheduling(Caller):
    def schedules(self) -> list[ScheduleState]:
        """All of them, by name."""
        keys = self.keys
        definitions: dict[str, str] = self.client.hgetall(keys.schedules)
        names = sorted(definitions)
        with self.client.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.hgetall(keys.schedule_state(name))
                pipe.llen(keys.schedule_waiting(name))
            found = pipe.execute()
        return [
            ScheduleState(name, definitions[name], fields, waiting)
            for name, fields, waiting in zip(names, found[::2], found[1::2], strict=True)
        ]

    def schedule_definition(self, name: str) -> str | None:
        found: str | None = self.client.hget(self.keys.schedules, name)
        return found

    def put_schedule(
        self,
        name: str,
        read: str | None,
        definition: str,
        next_slot: tuple[int, int] | None,
        verb: str,
        by: str = "",
        *,
        keep_next: bool = False,
    ) -> bool:
        """Write a definition with its next (slot, due); False if it is not as it was read any more."""
        slot, due = ("=", "") if keep_next else next_slot or ("", "")
        return bool(self.call("schedule_put", name, read or "", definition, slot, due, verb, by)[0] == Code.OK)

    def remove_schedule(self, name: str, by: str = "") -> None:
        self._known(name, self.call("schedule_remove", name, by)[0])

    def look_at_schedules(self, most: int) -> Look:
        now_ms, next_ms, *due = self.call("schedule_look", most)
        return Look(
            int(now_ms),
            int(next_ms),
            [DueSchedule(name, text, int(slot) if slot else None, busy == "1") for name, text, slot, busy in due],
        )

    def claim_slot(
        self,
        name: str,
        version: int,
        due_slot: int,
        slot: int | None,
        next_slot: tuple[int, int] | None,
        overlap: str,
    ) -> str:
        """What became of the slot: fire, skipped, queued, missed; '' if it is no longer there to be taken."""
        code, *answer = self.call(
            "schedule_claim",
            name,
            version,
            due_slot,
            "" if slot is None else slot,
            *(next_slot or ("", "")),
            overlap,
            in_ms(self.settings.staging_ttl_seconds),
            MOST_WAITING,
        )
        return str(answer[0]) if code == Code.OK else ""

    def resume_slot(self, name: str, overlap: str) -> int | None:
        """The slot to fire now, if there is one."""
        code, *answer = self.call("schedule_resume", name, overlap, in_ms(self.settings.staging_ttl_seconds))
        return int(answer[0]) if code == Code.OK else None

    def slot_fired(self, name: str, slot: int, run: str, why: str = "") -> bool:
        """The slot has become a run, or (run '') was refused. False if somebody else has said so."""
        return bool(self.call("schedule_fired", name, slot, run, why)[0] == Code.OK)

    def fire_schedule(self, name: str, overlap: str, by: str = "") -> int | None:
        """A slot of now for the caller to fire; None if it has to wait, and a scheduler will."""
        code, *answer = self.call("schedule_fire", name, by, overlap, in_ms(self.settings.staging_ttl_seconds))
        self._known(name, code)
        slot, may_go = answer
        return int(slot) if may_go else None

    @staticmethod
    def _known(name: str, code: int) -> None:
        if code == Code.UNKNOWN:
            raise ConfigError(f"there is no schedule '{name}'")

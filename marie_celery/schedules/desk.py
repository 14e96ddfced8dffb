"""Where schedules are added, changed and looked at: by operators, and by code when a scheduler starts.

The two never fight silently. What an operator has edited stays, however often code is started; what code says is kept
beside it until `reset` takes it again. What code does not say any more is an orphan: kept, and not fired.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from marie_celery.errors import ConfigError, ServerError
from marie_celery.schedules.entry import Entry, Origin
from marie_celery.schedules.schedule import Schedule
from marie_celery.store.schedules import ScheduleState, Scheduling

log = logging.getLogger(__name__)

ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class Listed:
    state: ScheduleState
    entry: Entry | None
    problem: str = ""
    """Why the text in Redis is no schedule."""

    @property
    def name(self) -> str:
        return self.state.name

    @property
    def condition(self) -> str:
        """on, paused, orphan, ended or broken; and what is going on."""
        if self.entry is None:
            return f"broken: {self.problem}"
        if self.entry.orphan:
            word = "orphan"
        elif self.entry.paused:
            word = "paused"
        else:
            word = "ended" if "next" not in self.state.fields else "on"
        busy = f", {self.state.waiting} waiting" if self.state.waiting else ""
        edited = f", edited, code says {self.entry.difference}" if self.entry.difference else ""
        failed = f", last failed: {self.state.fields['error']}" if "error" in self.state.fields else ""
        return f"{word}{busy}{edited}{failed}"


class Desk:
    def __init__(self, store: Scheduling) -> None:
        self._store = store

    def listing(self) -> list[Listed]:
        return [_listed(state) for state in self._store.schedules()]

    def entry(self, name: str) -> Entry:
        return self._read(name)[1]

    def add(self, schedule: Schedule, *, replace: bool = False, by: str = "operator") -> None:
        """An operator's schedule, or with `replace` an operator's version of one."""

        def change(present: Entry | None) -> Entry:
            if present is None:
                return Entry(version=1, origin=Origin.OPERATOR, definition=schedule, paused=schedule.paused)
            if not replace:
                raise ConfigError(f"there is a schedule '{schedule.name}' already; replace it, or take another name")
            return present.but(origin=Origin.OPERATOR, definition=schedule, paused=schedule.paused, orphan=False)

        self._change(schedule.name, change, "replaced" if replace else "added", by)

    def pause(self, name: str, by: str = "operator") -> bool:
        """Slots that come and go meanwhile are left out. False if it was paused already."""
        return self._set_paused(name, True, "paused", by)

    def resume(self, name: str, by: str = "operator") -> bool:
        return self._set_paused(name, False, "resumed", by)

    def reset(self, name: str, by: str = "operator") -> None:
        """Take what code says again."""

        def change(present: Entry | None) -> Entry:
            if present is None or present.code is None:
                raise ConfigError(f"code says nothing about the schedule '{name}'")
            return present.but(origin=Origin.CODE, definition=present.code, paused=present.code.paused)

        self._read(name)
        self._change(name, change, "reset", by)

    def remove(self, name: str, by: str = "operator") -> None:
        entry = _listed(ScheduleState(name, self._text(name))).entry  # what is broken can be removed as well
        if entry is not None and entry.code is not None and not entry.orphan:
            raise ConfigError(f"the schedule '{name}' is in code and would come back: pause it, or remove it there")
        self._store.remove_schedule(name, by)

    def install(self, schedules: Mapping[str, Schedule], app: str) -> None:
        """What a starting scheduler does with the schedules of its code."""
        for schedule in schedules.values():
            try:
                self._install(schedule, app)
            except ConfigError as error:
                log.error("%s", error)
        for listed in self.listing():
            entry = listed.entry
            if entry is None:
                log.error("the schedule '%s' cannot be read and is not fired: %s", listed.name, listed.problem)
            elif entry.app == app and entry.code is not None and listed.name not in schedules:
                self._abandon(listed.name, entry)

    def _install(self, schedule: Schedule, app: str) -> None:
        def change(present: Entry | None) -> Entry | None:
            if present is None:
                return Entry(
                    version=1,
                    origin=Origin.CODE,
                    definition=schedule,
                    paused=schedule.paused,
                    code=schedule,
                    app=app,
                )
            if present.origin is Origin.OPERATOR and present.definition != schedule:
                wanted = present.but(code=schedule, app=app)
                text = "the schedule '%s' was edited and stays as it is; code says %s"
                log.warning(text, schedule.name, wanted.difference)
            else:
                told = schedule.paused != present.definition.paused
                paused = schedule.paused if told else present.paused
                wanted = present.but(
                    origin=Origin.CODE, definition=schedule, paused=paused, code=schedule, app=app, orphan=False
                )
            return None if wanted == present.but() else wanted

        self._change(schedule.name, change, "installed", app)

    def _abandon(self, name: str, seen: Entry) -> None:
        def change(present: Entry | None) -> Entry | None:
            if present is None or present.code is None or present.app != seen.app:
                return None
            if present.origin is Origin.OPERATOR:
                log.warning("the schedule '%s' is not in code any more; it was edited and goes on", name)
                return present.but(code=None)
            log.warning("the schedule '%s' is not in code any more and is not fired", name)
            return present.but(code=None, orphan=True)

        self._change(name, change, "abandoned", seen.app)

    def _set_paused(self, name: str, paused: bool, verb: str, by: str) -> bool:
        def change(present: Entry | None) -> Entry | None:
            return None if present is None or present.paused == paused else present.but(paused=paused)

        self._read(name)
        return self._change(name, change, verb, by)

    def _change(self, name: str, change: Callable[[Entry | None], Entry | None], verb: str, by: str) -> bool:
        """Read, think, write; again if somebody else wrote in between. False if there was nothing to change."""
        for _ in range(ATTEMPTS):
            text = self._store.schedule_definition(name)
            present = None if text is None else self._parse(name, text)
            wanted = change(present)
            if wanted is None:
                return False
            same = present is not None and present.definition == wanted.definition and present.fires == wanted.fires
            next_slot = None if same else wanted.next_slot(self._store.look_at_schedules(0).now_ms)
            if self._store.put_schedule(name, text, wanted.text(), next_slot, verb, by, keep_next=same):
                return True
        raise ServerError(f"the schedule '{name}' is changed by others all the time")

    def _text(self, name: str) -> str:
        text = self._store.schedule_definition(name)
        if text is None:
            known = ", ".join(state.name for state in self._store.schedules()) or "none"
            raise ConfigError(f"there is no schedule '{name}'; there are {known}")
        return text

    def _read(self, name: str) -> tuple[str, Entry]:
        text = self._text(name)
        return text, self._parse(name, text)

    @staticmethod
    def _parse(name: str, text: str) -> Entry:
        try:
            return Entry.parse(text)
        except ConfigError as error:
            raise ConfigError(f"the schedule '{name}' in Redis cannot be read: {error}; remove it") from None


def _listed(state: ScheduleState) -> Listed:
    try:
        return Listed(state, Entry.parse(state.definition))
    except ConfigError as error:
        return Listed(state, None, str(error))


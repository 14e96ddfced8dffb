"""From a slot that is due to a run, once, whoever else tries.

    claim ──▶ submit under the key schedule:<name>:<slot> ──▶ fired

A crash after the claim leaves a lease; when it ends somebody resumes. A crash after the submit leaves a run with that
key; submitting again finds it.
"""

from __future__ import annotations

import logging
from typing import Any, Protocol

from redis import RedisError

from marie_celery.authoring.dag import DAGS, Dag
from marie_celery.authoring.options import Duplicates
from marie_celery.errors import ConfigError, DuplicateRun, ServerError
from marie_celery.schedules.catchup import choose
from marie_celery.schedules.entry import Entry
from marie_celery.schedules.schedule import Schedule
from marie_celery.store.schedules import FIRE, DueSchedule, Scheduling

log = logging.getLogger(__name__)


class Submitted(Protocol):
    id: str


class Submit(Protocol):
    def __call__(self, dag: Dag[..., Any], *args: Any, **kwargs: Any) -> Submitted: ...


class Firing:
    def __init__(self, store: Scheduling, submit: Submit) -> None:
        self._store = store
        self._submit = submit
        self._left_alone: set[str] = set()

    def tend(self, due: DueSchedule, now_ms: int) -> bool:
        """Do what is due for a schedule. False if there was nothing to do, or nothing that this process can do."""
        try:
            entry = _understood(due)
            resumed = due.busy and self._resume(entry.definition)
            return resumed or (due.slot is not None and self._claim(entry, due.slot, now_ms))
        except (RedisError, OSError):
            raise
        except Exception as error:
            self._leave(due, error)
            return False

    def order(self, schedule: Schedule, by: str) -> str | None:
        """Fire it now. The run; '' if it was refused; None if it waits for the last run to end."""
        slot = self._store.fire_schedule(schedule.name, schedule.overlap.value, by)
        return None if slot is None else self._fire(schedule, slot)

    def _resume(self, schedule: Schedule) -> bool:
        """Fire the slot that waits, or that another left half done."""
        slot = self._store.resume_slot(schedule.name, schedule.overlap.value)
        if slot is not None:
            self._fire(schedule, slot)
        return slot is not None

    def _claim(self, entry: Entry, due_slot: int, now_ms: int) -> bool:
        schedule = entry.definition
        choice = choose(schedule, due_slot, now_ms)
        after = None if choice.next_slot is None else (choice.next_slot, schedule.due_ms(choice.next_slot))
        outcome = self._store.claim_slot(
            schedule.name, entry.version, due_slot, choice.slot, after, schedule.overlap.value
        )
        if outcome == FIRE and choice.slot is not None:
            self._fire(schedule, choice.slot)
        elif outcome:
            log.info("schedule '%s': slot %d %s", schedule.name, choice.slot or due_slot, outcome)
        return bool(outcome)

    def _fire(self, schedule: Schedule, slot: int) -> str:
        run, why = "", ""
        try:
            run = self._run(schedule, slot)
            log.info("schedule '%s': slot %d is run %s", schedule.name, slot, run)
        except (RedisError, ServerError):
            raise  # the lease will see to it
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            log.error("schedule '%s': slot %d was refused: %s", schedule.name, slot, why)
        self._store.slot_fired(schedule.name, slot, run, why)
        return run

    def _run(self, schedule: Schedule, slot: int) -> str:
        if schedule.dag not in DAGS:
            raise ConfigError(f"there is no dag '{schedule.dag}'")
        once = {"key": schedule.run_key(slot), "duplicates": Duplicates.REJECT_ALL}
        dag = DAGS[schedule.dag].options(**schedule.options, **once)
        try:
            return self._submit(dag, *schedule.args, **schedule.kwargs).id
        except DuplicateRun as error:
            return error.run_id

    def _leave(self, due: DueSchedule, error: Exception) -> None:
        """One schedule that nobody can make sense of must not keep the others waiting."""
        if due.definition not in self._left_alone:
            self._left_alone.add(due.definition)
            log.warning("the schedule '%s' is left to other schedulers: %s", due.name, error)


def _understood(due: DueSchedule) -> Entry:
    """Raises if this process cannot fire it: others, with other code, may."""
    entry = Entry.parse(due.definition)
    if entry.definition.dag not in DAGS:
        raise ConfigError(f"there is no dag '{entry.definition.dag}' here")
    return entry

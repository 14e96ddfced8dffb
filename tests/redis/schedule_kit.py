"""A schedule to put, claim and fire."""

from __future__ import annotations

import json

from marie_celery.store.schedules import Scheduling
from marie_celery.store.store import Store
from tests.redis.redis_runs import NOW, complete, give_capacity, job, new_run, run_state

NAME = "nightly"
SLOT, NEXT, LATER = NOW - 10, NOW + 60_000, NOW + 120_000
LEASE_MS = 30_000
STATE = f"schedule:{NAME}:state"
WAITING = f"schedule:{NAME}:waiting"


class ScheduleStore(Store, Scheduling):
    """All that a schedule and its runs need."""


def definition(version: int = 1) -> str:
    return json.dumps({"version": version, "args": []})


def put(schedules: Scheduling, slot: int = SLOT, version: int = 1) -> None:
    read = schedules.schedule_definition(NAME)
    assert schedules.put_schedule(NAME, read, definition(version), (slot, slot), "added", "ann")


def claim(schedules: Scheduling, overlap: str = "allow", slot: int = SLOT, following: int | None = NEXT) -> str:
    after = None if following is None else (following, following)
    return schedules.claim_slot(NAME, 1, slot, slot, after, overlap)


def fired(schedules: ScheduleStore, overlap: str = "allow") -> str:
    """Takes the slot and submits its run, which is still going."""
    put(schedules)
    assert claim(schedules, overlap) == "fire"
    run = schedules.submit(new_run([job()]))
    assert schedules.slot_fired(NAME, SLOT, run)
    schedules.now_ms = NEXT
    return run


def end(schedules: ScheduleStore, run: str) -> None:
    give_capacity(schedules)
    complete(schedules, f"{run}-000000")
    assert run_state(schedules, run) == "completed"

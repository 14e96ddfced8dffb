"""One poll of fair tours: the queues are the executors, and free slots are one more resource.

The decision is `resources.tours`, pure; here it is given what Redis has. The dispatch asks again in the step that
books, so a look that is out of date by then costs a refusal, never too much.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from marie_celery.resources import (
    ConcurrencyManager,
    FairTours,
    Manager,
    OnShortage,
    QuantityManager,
    Queue,
    Request,
    ResourceSettings,
    WaitingJob,
)
from marie_celery.resources.rate import TOKEN
from marie_celery.store.records import Candidate, Outlook, Room
from marie_celery.store.store import Store


@dataclass(frozen=True, slots=True)
class Stock:
    """What is left of each resource."""

    managers: Mapping[str, Manager] = field(default_factory=dict)
    modes: Mapping[str, OnShortage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tours:
    jobs: list[Candidate]
    """To be sent, in order."""
    skips: Mapping[str, int]
    """Job → how often others have passed it by now."""


def look_at_stock(store: Store) -> Stock:
    keys, definitions = store.keys, store.resources()
    with store.client.pipeline(transaction=False) as pipe:
        for name in definitions:
            pipe.hgetall(keys.resource(name))
            pipe.hgetall(keys.resource_used(name))
            pipe.zcard(keys.resource_free(name))
        found = pipe.execute()
    now_ms = store.read_clock()
    rows = dict(zip(definitions, zip(found[::3], found[1::3], found[2::3], strict=True), strict=True))
    return Stock(
        {name: _left(settings, *rows[name], now_ms) for name, settings in definitions.items()},
        {name: settings.on_shortage for name, settings in definitions.items() if settings.on_shortage},
    )


def _left(
    settings: ResourceSettings, fields: Mapping[str, str], used: Mapping[str, str], free_items: int, now_ms: int
) -> Manager:
    """A manager that has what nobody holds now. Within one poll no time passes, so a rate is so many tokens."""
    match settings.kind:
        case "discrete":
            return QuantityManager(free_items)
        case "rate":
            gained = max(0, now_ms - int(fields["at"])) * int(fields["gain"])
            return QuantityManager(min(settings.burst * TOKEN, int(fields["level"]) + gained) // TOKEN)
        case "own":
            return QuantityManager(settings.most)  # on offer are only those who have their grant
        case "quantity":
            return QuantityManager(max(0, settings.quantity - int(used.get("*", 0))))
    manager = ConcurrencyManager(settings.most)
    for key, units in used.items():
        manager.book(f"used {key}", Request(min(int(units), settings.most), "" if key == "*" else key), now_ms)
    return manager


def choose_by_tours(outlook: Outlook, stock: Stock, on_shortage: OnShortage, max_skips: int) -> Tours:
    candidates = {job.job_id: job for room in outlook.rooms for job in room.candidates}
    rooms: dict[str, list[Room]] = {}
    for room in outlook.rooms:
        rooms.setdefault(room.executor, []).append(room)
    slots = {_slots(executor): QuantityManager(max(0, own[0].free)) for executor, own in rooms.items()}
    rules = FairTours(on_shortage, {**stock.modes, **dict.fromkeys(slots, OnShortage.HOLD)}, max_skips)
    queues = [_queue(executor, own) for executor, own in rooms.items()]
    poll = rules.poll(queues, {**stock.managers, **slots}, outlook.now_ms)
    return Tours([candidates[start.job] for start in poll.starts], poll.skips)


def _slots(executor: str) -> str:
    return f"slots {executor}"  # no resource can have this name


def _queue(executor: str, rooms: list[Room]) -> Queue:
    jobs = sorted(
        (job for room in rooms for job in room.candidates), key=lambda job: (-job.priority, job.job_id)
    )
    waiting = [_waiting(executor, job) for job in jobs]
    held_since = [room.held_ms for room in rooms if room.held_ms is not None]
    if held_since:
        # It cannot start, but it waits: the oldest of these counts for the place of its queue.
        waiting.insert(0, WaitingJob("held", min([*held_since, *(job.since_ms for job in waiting[:1])]), is_held=True))
    return Queue(executor, waiting)


def _waiting(executor: str, job: Candidate) -> WaitingJob:
    needs = {name: Request(amount, key) for name, amount, key in json.loads(job.needs or "[]")}
    return WaitingJob(job.job_id, job.ready_ms, {**needs, _slots(executor): Request(1)}, skips=job.skips)

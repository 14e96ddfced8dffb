"""Resources for tests of the scripts: declaring them, jobs that need them, who has and who lacks what."""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from marie_celery.resources import ResourceSettings
from marie_celery.store.codes import Code
from marie_celery.store.keys import job_id
from marie_celery.store.records import NewJob
from marie_celery.store.store import Store
from tests.redis.redis_runs import EXECUTOR, begin, give_capacity, job, new_run, submit

_settings: TypeAdapter[ResourceSettings] = TypeAdapter(ResourceSettings)


def resource(**fields: Any) -> ResourceSettings:
    return _settings.validate_python(fields)


def declare(store: Store, name: str = "gpu", **fields: Any) -> None:
    store.declare(name, resource(**(fields if "kind" in fields else {"kind": "quantity", "quantity": 2} | fields)))


def needing(name: str = "a", *, executor: str = EXECUTOR, priority: int = 50, **needs: int | tuple[int, str]) -> NewJob:
    """A job that takes so much of each resource, maybe under a key."""
    row = [[each, *(given if isinstance(given, tuple) else (given, ""))] for each, given in sorted(needs.items())]
    # With an estimate: what is learned of others must not change ranks in the middle of a test.
    return job(name, executor=executor, priority=priority, estimate=1000, **({"needs": json.dumps(row)} if row else {}))


def ready_jobs(store: Store, *jobs: NewJob, slots: int = 10) -> list[str]:
    """Submit one run of these jobs, with room for all of them."""
    for executor in {each.fields["executor"] for each in jobs}:
        give_capacity(store, slots, worker=f"w-{executor}", executor=executor)
    run = submit(store, new_run(jobs))
    return [job_id(run, number) for number in range(len(jobs))]


def ask(store: Store, *ids: str) -> list[Code]:
    """What the scheduler hears when it sends these jobs, in this order."""
    return [Code(claim.code) for claim in store.dispatch([], [(each, 0) for each in ids])]


def at_work(store: Store, id: str) -> int:
    return begin(store, id)


def line(store: Store, name: str = "gpu") -> list[str]:
    found: list[str] = store.client.zrange(store.keys.short(name), 0, -1)
    return found


def on_offer(store: Store, executor: str = EXECUTOR) -> set[str]:
    """Ready jobs that could be sent."""
    keys = store.keys
    return {*store.client.zrange(keys.ready(executor), 0, -1), *store.client.zrange(keys.new(executor), 0, -1)}


def left_over(store: Store) -> dict[str, Any]:
    """What is still booked; empty when every manager is full again."""
    client, keys = store.client, store.keys
    found: dict[str, Any] = {"bookings": client.hgetall(keys.bookings)}
    for name in client.hkeys(keys.resources):
        found[f"{name} used"] = client.hgetall(keys.resource_used(name))
        found[f"{name} holders"] = client.hgetall(keys.resource_holders(name))
        items, free = client.zrange(keys.resource_items(name), 0, -1), client.zrange(keys.resource_free(name), 0, -1)
        found[f"{name} items"] = sorted(set(items) ^ set(free))
    return {what: value for what, value in found.items() if value}

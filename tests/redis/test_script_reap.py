"""reap.lua: what nobody looks after any more."""

from __future__ import annotations

import json

from marie_celery.model.retry import RetryPolicy
from marie_celery.store.keys import attempt_id
from marie_celery.store.records import Reaped
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    BURST,
    EXECUTOR,
    NOW,
    WORKER,
    begin,
    changes,
    dispatch,
    first_job,
    give_capacity,
    job,
    job_field,
    new_run,
    rank,
    run_state,
    running,
)

LATER = NOW + 5_000


def test_nothing_is_taken_before_its_time(store: Store) -> None:
    running(store)
    store.now_ms = LATER - 1
    with changes(store) as changed:
        assert not store.reap()
    assert changed == {}


def test_a_dead_worker_takes_its_capacity_with_it(store: Store) -> None:
    give_capacity(store, slots=3)
    give_capacity(store, slots=2, worker="w2")
    store.now_ms = LATER - 1
    give_capacity(store, slots=2, worker="w2")
    store.now_ms = LATER
    with changes(store) as changed:
        assert store.reap() == Reaped(1, 0, 0, 0)
    assert changed == {
        "workers": {WORKER: None},
        f"worker:{WORKER}": {"host": None, "seen_at": None, "executors": None},
        f"executor:{EXECUTOR}": {"capacity": "2"},
        f"executor:{EXECUTOR}:workers": {WORKER: None},
    }


def test_an_attempt_that_an_idle_worker_did_not_start_is_sent_again(store: Store) -> None:
    give_capacity(store)
    name = first_job(store)
    token = dispatch(store, name)
    store.now_ms = LATER
    give_capacity(store)
    with changes(store) as changed:
        assert store.reap() == Reaped(0, 0, 1, 0)
    assert changed == {
        f"job:{name}": {"state": "ready", "reason": "not_started", "at": str(LATER)},
        f"run:{name[:13]}": {"dispatched": "0", "ready": "1"},
        f"slots:{EXECUTOR}": {attempt_id(name, token): None},
        f"ready:{EXECUTOR}": {name: rank(burst=True)},
        "rerank": {name: NOW + BURST},
        "events": [("job", name, "dispatched", "ready", "not_started")],
        "wake": ["1"],
    }


def test_an_attempt_waits_on_while_all_processes_are_busy(store: Store) -> None:
    give_capacity(store, slots=1)
    store.client.hset(store.keys.executor(EXECUTOR), "target", 2)
    begin(store, first_job(store))
    name = first_job(store)
    token = dispatch(store, name)
    store.now_ms = LATER
    give_capacity(store, slots=1)
    with changes(store) as changed:
        assert not store.reap()
    assert changed == {f"slots:{EXECUTOR}": {attempt_id(name, token): LATER + 5_000}}


def test_an_attempt_is_sent_again_when_there_is_no_worker_left(store: Store) -> None:
    give_capacity(store)
    name = first_job(store)
    dispatch(store, name)
    store.now_ms = LATER
    assert store.reap() == Reaped(1, 0, 1, 0)
    assert job_field(store, name, "state") == "ready"


def test_an_attempt_whose_worker_vanished_runs_again(store: Store) -> None:
    name, _, attempt = running(store)
    store.now_ms = NOW + 60_000
    give_capacity(store, worker="w2")
    store.reap()
    assert job_field(store, name, "state") == "ready"
    assert job_field(store, name, "crashes") == "1"
    assert store.client.zscore(store.keys.slots(EXECUTOR), attempt) is None
    error = json.loads(store.client.hget(store.keys.errors(name[:13]), "0"))
    assert error == {"type": "WorkerLost", "message": "worker w1 stopped renewing its lease"}


def test_a_job_that_kills_its_workers_is_poison(store: Store) -> None:
    give_capacity(store)
    name = first_job(store, new_run([job()], policy=RetryPolicy(crash_limit=2)))
    for number in (1, 2):
        begin(store, name)
        store.now_ms = NOW + number * 60_000
        give_capacity(store)
        assert store.reap() == Reaped(0, 1, 0, 0)
    assert job_field(store, name, "reason") == "poison"
    assert store.client.zscore(store.keys.dead, name) == NOW + 120_000
    assert run_state(store, name[:13]) == "failed"


def test_the_slot_of_a_cancelled_job_is_free_after_its_lease(store: Store) -> None:
    name, _, attempt = running(store)
    store.cancel_job(name)
    store.now_ms = NOW + 60_000
    give_capacity(store)
    with changes(store) as changed:
        store.now_ms += 5_001
        store.reap()
    assert changed[f"slots:{EXECUTOR}"] == {attempt: None}
    assert f"job:{name}" not in changed

"""leave.lua: what a worker hands back when it says good-bye. `test_script_renew.py` has the plain cases."""

from __future__ import annotations

from marie_celery.store.keys import attempt_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    EXECUTOR,
    NOW,
    WORKER,
    begin,
    changes,
    dispatch,
    first_job,
    give_capacity,
    job_field,
    running,
)


def test_only_its_own_jobs_are_handed_back(store: Store) -> None:
    mine, _, _ = running(store)
    give_capacity(store, worker="w2")
    other = first_job(store)
    begin(store, other, worker="w2")
    assert store.leave(WORKER) == 1
    assert job_field(store, mine, "state") == "ready"
    assert job_field(store, other, "state") == "active"
    assert store.capacity()[0].capacity == 10


def test_what_was_handed_back_costs_the_job_nothing(store: Store) -> None:
    name, _, _ = running(store)
    store.leave(WORKER)
    counters = store.client.hmget(store.keys.job(name), "failures", "timeouts", "crashes")
    assert counters == [None, None, None]


def test_a_late_report_of_what_was_handed_back_changes_nothing(store: Store) -> None:
    name, token, attempt = running(store)
    store.leave(WORKER)
    with changes(store) as changed:
        assert not store.finish(name, token, WORKER, "1")
    assert changed == {"counters": {"fencedWrites": "1"}, "wake": ["1"]}
    give_capacity(store)
    again = dispatch(store, name)
    assert attempt_id(name, again) != attempt


def test_a_message_that_it_had_not_begun_comes_back_by_its_lease(store: Store) -> None:
    give_capacity(store)
    name = first_job(store)
    dispatch(store, name)
    assert store.leave(WORKER) == 0
    assert job_field(store, name, "state") == "dispatched"
    store.now_ms = NOW + 5_000
    assert store.reap().resent == 1
    assert job_field(store, name, "state") == "ready"


def test_what_is_held_back_is_held_when_it_is_handed_back(store: Store) -> None:
    name, _, attempt = running(store)
    store.hold("task", "t")
    with changes(store) as changed:
        assert store.leave(WORKER) == 1
    assert changed[f"job:{name}"] == {"state": "held", "reason": "task_held"}
    assert changed["held"] == {name: NOW}
    assert changed[f"slots:{EXECUTOR}"] == {attempt: None}
    assert not store.client.exists(store.keys.ready(EXECUTOR), store.keys.rerank)


def test_an_attempt_that_was_overtaken_is_not_handed_back(store: Store) -> None:
    name, _, attempt = running(store)
    store.now_ms = NOW + 60_000
    give_capacity(store, worker="w2")
    store.reap()
    begin(store, name, worker="w2")
    store.client.hset(store.keys.worker_jobs(WORKER), attempt, attempt)
    assert store.leave(WORKER) == 0
    assert job_field(store, name, "state") == "active"
    assert job_field(store, name, "worker") == "w2"
    assert not store.client.exists(store.keys.worker_jobs(WORKER))

"""renew.lua and leave.lua: the heartbeat of a worker, and its good-bye."""

from __future__ import annotations

from marie_celery.store.keys import attempt_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    EXECUTOR,
    NOW,
    WORKER,
    changes,
    dispatch,
    first_job,
    give_capacity,
    running,
)

PID = 7
HOST = {"host": "h"}


def test_the_first_heartbeat_brings_capacity(store: Store) -> None:
    with changes(store) as changed:
        assert store.renew(WORKER, HOST, {EXECUTOR: 3, "gpu": 1}) == []
    assert changed == {
        f"worker:{WORKER}": {"host": "h", "seen_at": str(NOW), "executors": f"{EXECUTOR},gpu"},
        "workers": {WORKER: NOW + 5_000},
        "executors": ["gpu", EXECUTOR],
        f"executor:{EXECUTOR}": {"capacity": "3"},
        f"executor:{EXECUTOR}:workers": {WORKER: "3"},
        "executor:gpu": {"capacity": "1"},
        "executor:gpu:workers": {WORKER: "1"},
        "wake": ["1"],
    }


def test_the_next_one_only_says_that_the_worker_lives(store: Store) -> None:
    give_capacity(store)
    store.now_ms = NOW + 1_000
    with changes(store) as changed:
        give_capacity(store)
    assert changed == {f"worker:{WORKER}": {"seen_at": str(NOW + 1_000)}, "workers": {WORKER: NOW + 6_000}}


def test_capacity_is_the_sum_over_workers_and_follows_their_reports(store: Store) -> None:
    give_capacity(store, slots=3)
    give_capacity(store, slots=4, worker="w2")
    assert store.capacity()[0].capacity == 7
    with changes(store) as changed:
        store.renew(WORKER, HOST, {"gpu": 2})
    assert changed == {
        f"worker:{WORKER}": {"executors": "gpu"},
        "executors": ["gpu", EXECUTOR],
        f"executor:{EXECUTOR}": {"capacity": "4"},
        f"executor:{EXECUTOR}:workers": {WORKER: None},
        "executor:gpu": {"capacity": "2"},
        "executor:gpu:workers": {WORKER: "2"},
        "wake": ["1"],
    }


def test_the_leases_of_running_and_reserved_attempts_are_renewed(store: Store) -> None:
    _, _, active = running(store)
    waiting = first_job(store)
    reserved = attempt_id(waiting, dispatch(store, waiting))
    store.now_ms = NOW + 1_000
    with changes(store) as changed:
        assert store.renew(WORKER, HOST, {EXECUTOR: 10}, [reserved], [PID]) == []
    assert changed == {
        f"worker:{WORKER}": {"seen_at": str(NOW + 1_000)},
        "workers": {WORKER: NOW + 6_000},
        f"slots:{EXECUTOR}": {active: NOW + 61_000, reserved: NOW + 6_000},
    }


def test_the_lease_of_a_dead_process_is_left_to_end(store: Store) -> None:
    running(store)
    store.now_ms = NOW + 1_000
    with changes(store) as changed:
        assert store.renew(WORKER, HOST, {EXECUTOR: 10}, pids=[PID + 1]) == []
    assert f"slots:{EXECUTOR}" not in changed


def test_a_cancelled_attempt_has_to_stop_and_keeps_its_slot_for_a_while(store: Store) -> None:
    name, _, attempt = running(store)
    store.cancel_job(name)
    with changes(store) as changed:
        assert store.renew(WORKER, HOST, {EXECUTOR: 10}, pids=[PID]) == [attempt]
    assert changed == {f"slots:{EXECUTOR}": {attempt: NOW + 5_000}}


def test_an_attempt_whose_lease_has_ended_has_to_stop_and_gets_no_slot_back(store: Store) -> None:
    name, _, attempt = running(store)
    store.now_ms = NOW + 60_000
    give_capacity(store)
    store.reap()
    store.client.hset(store.keys.worker_jobs(WORKER), attempt, PID)
    with changes(store) as changed:
        assert store.renew(WORKER, HOST, {EXECUTOR: 10}, pids=[PID]) == [attempt]
    assert changed == {}
    assert store.client.hget(store.keys.job(name), "state") == "ready"


def test_a_worker_that_leaves_takes_its_capacity_along(store: Store) -> None:
    _, _, attempt = running(store)
    with changes(store) as changed:
        store.leave(WORKER)
    assert changed == {
        "workers": {WORKER: None},
        f"worker:{WORKER}": {"host": None, "seen_at": None, "executors": None},
        f"worker:{WORKER}:jobs": {attempt: None},
        f"executor:{EXECUTOR}": {"capacity": "0"},
        f"executor:{EXECUTOR}:workers": {WORKER: None},
        "wake": ["1"],
    }


def test_an_unknown_worker_may_leave(store: Store) -> None:
    with changes(store) as changed:
        store.leave("nobody")
    assert changed == {"wake": ["1"]}

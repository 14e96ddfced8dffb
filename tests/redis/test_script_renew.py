"""renew.lua and leave.lua: the heartbeat of a worker, and its good-bye."""

from __future__ import annotations

import pytest

from marie_celery.store.keys import attempt_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    BURST,
    EXECUTOR,
    NOW,
    WORKER,
    changes,
    dispatch,
    first_job,
    give_capacity,
    job_field,
    rank,
    running,
)

HOST = {"host": "h"}
SLOTS = {EXECUTOR: 10}


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
        assert store.renew(WORKER, HOST, SLOTS, [reserved, active]) == []
    assert changed == {
        f"worker:{WORKER}": {"seen_at": str(NOW + 1_000)},
        "workers": {WORKER: NOW + 6_000},
        f"slots:{EXECUTOR}": {active: NOW + 61_000, reserved: NOW + 6_000},
    }


def test_one_message_that_has_begun_several_jobs_renews_them_all(store: Store) -> None:
    _, _, first = running(store)
    _, _, second = running(store)
    store.client.hset(store.keys.worker_jobs(WORKER), second, first)
    store.now_ms = NOW + 1_000
    with changes(store) as changed:
        assert store.renew(WORKER, HOST, SLOTS, [first]) == []
    assert changed[f"slots:{EXECUTOR}"] == {first: NOW + 61_000, second: NOW + 61_000}


@pytest.mark.parametrize("in_hand", [[], ["0000000000001-000000.1"]])
def test_a_lease_ends_once_its_message_is_no_longer_in_hand(store: Store, in_hand: list[str]) -> None:
    name, _, _ = running(store)
    store.now_ms = NOW + 1_000
    with changes(store) as changed:
        assert store.renew(WORKER, HOST, SLOTS, in_hand) == []
    assert f"slots:{EXECUTOR}" not in changed
    store.now_ms = NOW + 60_000
    store.renew(WORKER, HOST, SLOTS, in_hand)
    assert store.reap().lost == 1
    assert job_field(store, name, "crashes") == "1"


def test_a_cancelled_attempt_has_to_stop_and_keeps_its_slot_for_a_while(store: Store) -> None:
    name, _, attempt = running(store)
    store.cancel_job(name)
    with changes(store) as changed:
        assert store.renew(WORKER, HOST, SLOTS, [attempt]) == [attempt]
    assert changed == {f"slots:{EXECUTOR}": {attempt: NOW + 5_000}}


def test_a_reserved_message_of_a_cancelled_job_is_not_stopped_but_keeps_its_slot(store: Store) -> None:
    give_capacity(store)
    name = first_job(store)
    reserved = attempt_id(name, dispatch(store, name))
    store.cancel_job(name)
    store.now_ms = NOW + 1_000
    with changes(store) as changed:
        assert store.renew(WORKER, HOST, SLOTS, [reserved]) == []
    assert changed[f"slots:{EXECUTOR}"] == {reserved: NOW + 6_000}


def test_an_attempt_whose_lease_has_ended_has_to_stop_and_gets_no_slot_back(store: Store) -> None:
    name, _, attempt = running(store)
    store.now_ms = NOW + 60_000
    give_capacity(store)
    store.reap()
    store.client.hset(store.keys.worker_jobs(WORKER), attempt, attempt)
    with changes(store) as changed:
        assert store.renew(WORKER, HOST, SLOTS, [attempt]) == [attempt]
    assert changed == {}
    assert store.client.hget(store.keys.job(name), "state") == "ready"


def test_a_worker_that_was_cut_off_for_a_while_keeps_its_jobs_and_hears_what_to_stop(store: Store) -> None:
    _, _, kept = running(store)
    name, _, stopped = running(store)
    store.now_ms = NOW + 10_000
    assert store.reap().workers == 1
    store.cancel_job(name)
    assert store.renew(WORKER, HOST, SLOTS, [kept, stopped]) == [stopped]
    assert store.client.zscore(store.keys.slots(EXECUTOR), kept) == NOW + 70_000


def test_a_dead_worker_leaves_nothing_behind_when_its_leases_have_ended(store: Store) -> None:
    running(store)
    store.now_ms = NOW + 60_000
    store.reap()
    assert not store.client.exists(store.keys.worker(WORKER), store.keys.worker_jobs(WORKER), store.keys.workers)


def test_a_worker_that_leaves_takes_its_capacity_along_and_hands_back_what_it_runs(store: Store) -> None:
    name, _, attempt = running(store)
    with changes(store) as changed:
        store.leave(WORKER)
    assert changed == {
        f"job:{name}": {"state": "ready", "reason": "handed_back"},
        f"run:{name[:13]}": {"active": "0", "ready": "1"},
        f"ready:{EXECUTOR}": {name: rank(burst=True)},
        "rerank": {name: NOW + BURST},
        f"slots:{EXECUTOR}": {attempt: None},
        "events": [("job", name, "active", "ready", "handed_back")],
        "workers": {WORKER: None},
        f"worker:{WORKER}": {"host": None, "seen_at": None, "executors": None},
        f"worker:{WORKER}:jobs": {attempt: None},
        f"executor:{EXECUTOR}": {"capacity": "0"},
        f"executor:{EXECUTOR}:workers": {WORKER: None},
        "wake": ["1"],
    }


def test_a_worker_that_leaves_after_a_cancel_only_frees_the_slot(store: Store) -> None:
    name, _, attempt = running(store)
    store.cancel_job(name)
    with changes(store) as changed:
        store.leave(WORKER)
    assert changed[f"slots:{EXECUTOR}"] == {attempt: None}
    assert f"job:{name}" not in changed


def test_an_unknown_worker_may_leave(store: Store) -> None:
    with changes(store) as changed:
        store.leave("nobody")
    assert changed == {"wake": ["1"]}

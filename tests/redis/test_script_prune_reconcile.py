"""prune.lua forgets what is over; reconcile.lua puts right what should never be wrong."""

from __future__ import annotations

import pytest

from marie_celery.store.keys import attempt_id, job_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    AGEING_STEP,
    EXECUTOR,
    NOW,
    WORKER,
    advance_to_the_end,
    changes,
    complete,
    dispatch,
    dump,
    first_job,
    give_capacity,
    job,
    new_run,
    rank,
    running,
    submit,
)


def test_a_run_that_has_not_ended_or_not_long_enough_ago_is_kept(store: Store) -> None:
    give_capacity(store)
    open_run, ended = first_job(store)[:13], first_job(store)
    complete(store, ended)
    with changes(store) as changed:
        assert not store.prune(open_run, NOW + 9)
        assert not store.prune(ended[:13], NOW - 1)
        assert not store.prune("0000000000001", NOW)
    assert changed == {}


def test_a_run_whose_time_is_over_is_forgotten_without_a_trace(store: Store) -> None:
    before = {"clock", "counters", "estimates", "events", "executors", "executor:ocr", "executor:ocr:workers"}
    before |= {"wake", "worker:w1", "workers"}
    give_capacity(store)
    run = submit(store, new_run([job("a"), job("b", sla=1, hard=NOW + 9)], soft=NOW + 5, key="k"))
    for number in (0, 1):
        complete(store, job_id(run, number))
    with changes(store) as changed:
        assert store.prune(run, NOW)
    assert changed == {
        f"run:{run}": {"state": "staging"},
        "ended": {run: None},
        "runs": {run: None},
        "sla": {run: None},
        "run-keys": {"k": None},
        "advance": [f"delete {run} - 0"],
        "wake": ["1"],
    }
    assert not store.prune(run, NOW)
    advance_to_the_end(store)
    assert dump(store).keys() <= before


def test_a_key_that_a_newer_run_has_taken_stays_with_it(store: Store) -> None:
    give_capacity(store)
    old = submit(store, new_run([job()], key="k"))
    complete(store, job_id(old, 0))
    new = submit(store, new_run([job()], key="k", duplicates="allow_all"))
    store.prune(old, NOW)
    assert store.client.hget(store.keys.run_keys, "k") == new


def test_where_everything_fits_nothing_is_changed(store: Store) -> None:
    name, _, _ = running(store, new_run([job("a"), job("b"), job("c")]))
    with changes(store) as changed:
        assert store.reconcile(name[:13]) == {}
        assert store.reconcile("0000000000001") == {}
    assert changed == {}


def test_a_ready_job_without_a_place_gets_one(store: Store) -> None:
    name = first_job(store)
    store.client.delete(store.keys.new(EXECUTOR), store.keys.rerank)
    with changes(store) as changed:
        assert store.reconcile(name[:13]) == {name: "ready without a place"}
    assert changed == {
        f"new:{EXECUTOR}": {name: rank(new=True)},
        "rerank": {name: NOW + AGEING_STEP},
        "counters": {"reconciled": "1"},
    }


@pytest.mark.parametrize("second", ["ready", "stale_ready", "stale_new"])
def test_a_ready_job_with_two_places_keeps_one(store: Store, second: str) -> None:
    name = first_job(store)
    other = getattr(store.keys, second)(EXECUTOR)
    store.client.zadd(other, {name: 1})
    assert list(store.reconcile(name[:13])) == [name]
    assert store.client.zscore(other, name) is None
    assert store.client.zscore(store.keys.new(EXECUTOR), name) == rank(new=True)


@pytest.mark.parametrize("state", ["dispatched", "active"])
def test_a_job_at_work_without_a_slot_gets_one_for_a_while(store: Store, state: str) -> None:
    give_capacity(store)
    name = first_job(store)
    token = dispatch(store, name)
    if state == "active":
        store.start(name, token, WORKER, "message")
    store.client.delete(store.keys.slots(EXECUTOR))
    with changes(store) as changed:
        assert store.reconcile(name[:13]) == {name: "at work without a slot"}
    assert changed == {
        f"slots:{EXECUTOR}": {attempt_id(name, token): NOW + 5_000},
        "counters": {"reconciled": "1"},
    }


def test_a_dispatched_job_of_a_run_that_is_being_cancelled_needs_none(store: Store) -> None:
    give_capacity(store)
    name = first_job(store)
    dispatch(store, name)
    store.client.delete(store.keys.slots(EXECUTOR))
    store.client.hset(store.keys.run(name[:13]), "cancel", "no")
    assert store.reconcile(name[:13]) == {}


def test_a_retry_without_a_time_gets_its_own(store: Store) -> None:
    name, token, _ = running(store)
    store.call("fail", name, token, WORKER, "failure", "{}", 0, "", 0)
    store.client.delete(store.keys.delayed)
    assert store.reconcile(name[:13]) == {name: "retry without a time"}
    assert store.client.zscore(store.keys.delayed, name) == NOW + 2_000


def test_a_held_job_that_is_not_listed_is_listed(store: Store) -> None:
    name = first_job(store)
    store.hold("job", name)
    store.client.delete(store.keys.held)
    assert store.reconcile(name[:13]) == {name: "held and not listed"}
    assert store.client.zscore(store.keys.held, name) == NOW


def test_a_run_of_many_jobs_is_looked_at_in_pieces(store: Store) -> None:
    run = submit(store, new_run([job(f"j{number}") for number in range(1_100)]))
    advance_to_the_end(store)
    store.client.zrem(store.keys.new(EXECUTOR), job_id(run, 5), job_id(run, 1_099))
    assert set(store.reconcile(run)) == {job_id(run, 5), job_id(run, 1_099)}

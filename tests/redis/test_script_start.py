"""start.lua: a worker begins an attempt, once."""

from __future__ import annotations

import pytest

from marie_celery.model.retry import FailureKind
from marie_celery.store.keys import attempt_id, job_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    EXECUTOR,
    NOW,
    WORKER,
    changes,
    complete,
    dag,
    dispatch,
    first_job,
    give_capacity,
    job,
    new_run,
    running,
    submit,
)


def dispatched(store: Store) -> tuple[str, int, str]:
    give_capacity(store)
    name = first_job(store, new_run([job(inputs="[1]\n{}")]))
    token = dispatch(store, name)
    return name, token, attempt_id(name, token)


def test_the_worker_gets_inputs_policy_and_fields(store: Store) -> None:
    name, token, attempt = dispatched(store)
    store.now_ms = NOW + 10
    with changes(store) as changed:
        started = store.start(name, token, WORKER, "message")
    assert started is not None
    assert (started.inputs, started.dag, started.results) == ("[1]\n{}", "d", {})
    assert started.job == {"name": "a", "executor": EXECUTOR, "task": "t"}
    assert changed == {
        f"job:{name}": {"state": "active", "at": str(NOW + 10), "worker": WORKER},
        f"run:{name[:13]}": {"dispatched": "0", "active": "1"},
        f"slots:{EXECUTOR}": {attempt: NOW + 60_010},
        f"worker:{WORKER}:jobs": {attempt: "message"},
        "events": [("job", name, "dispatched", "active", "")],
    }


def test_the_worker_gets_the_results_its_inputs_refer_to(store: Store) -> None:
    give_capacity(store)
    jobs = [job("a"), job("b"), job("c"), job("d", refs="0-1 2", deps=1, parents=1)]
    run = submit(store, new_run(jobs))
    complete(store, job_id(run, 0))
    complete(store, job_id(run, 2))
    last = job_id(run, 3)
    started = store.start(last, dispatch(store, last), WORKER, "message")
    assert started is not None
    assert started.results == {0: "1", 1: None, 2: "1"}


def test_references_beyond_one_batch_come_complete_and_in_order(store: Store) -> None:
    give_capacity(store)
    run = submit(store, new_run([job("a", refs="1-1200 3")]))
    store.client.hset(store.keys.results(run), mapping={str(number): number for number in range(1, 1_201)})
    name = job_id(run, 0)
    started = store.start(name, dispatch(store, name), WORKER, "message")
    assert started is not None
    assert started.results == {number: str(number) for number in range(1, 1_201)}


@pytest.mark.parametrize("wrong", [0, 2, 99])
def test_another_token_is_stale(store: Store, wrong: int) -> None:
    name, _, _ = dispatched(store)
    with changes(store) as changed:
        assert store.start(name, wrong, WORKER, "message") is None
    assert changed == {"counters": {"fencedWrites": "1"}}


def test_an_unknown_job_is_stale(store: Store) -> None:
    with changes(store) as changed:
        assert store.start("0000000000000-000000", 1, WORKER, "message") is None
    assert changed == {"counters": {"fencedWrites": "1"}}


def test_a_message_delivered_twice_does_not_disturb_the_process_that_runs_it(store: Store) -> None:
    name, token, _ = running(store)
    with changes(store) as changed:
        assert store.start(name, token, WORKER, "message") is None
        assert store.start(name, token, "w2", "message") is None
    assert changed == {"counters": {"fencedWrites": "2"}}


def test_the_late_message_of_a_lost_attempt_does_not_disturb_the_next_one(store: Store) -> None:
    name, token, _ = running(store)
    store.fail(name, token, WORKER, FailureKind.CRASH, {})
    dispatch(store, name)
    with changes(store) as changed:
        assert store.start(name, token, WORKER, "message") is None
    assert changed == {"counters": {"fencedWrites": "1"}}


def test_a_message_delivered_twice_leaves_the_slot_of_a_process_that_is_being_stopped(store: Store) -> None:
    name, token, _ = running(store)
    store.cancel_job(name)
    with changes(store) as changed:
        assert store.start(name, token, WORKER, "message") is None
    assert changed == {"counters": {"fencedWrites": "1"}}


def test_a_cancelled_job_does_not_start_and_gives_its_slot_back(store: Store) -> None:
    name, token, attempt = dispatched(store)
    store.cancel_job(name)
    with changes(store) as changed:
        assert store.start(name, token, WORKER, "message") is None
    assert changed == {
        "counters": {"fencedWrites": "1"},
        f"slots:{EXECUTOR}": {attempt: None},
        "wake": ["1"],
    }


def test_a_job_of_a_run_that_is_being_cancelled_does_not_start(store: Store) -> None:
    give_capacity(store)
    run = submit(store, dag({"a": [], "b": ["a"]}))
    name = job_id(run, 0)
    token = dispatch(store, name)
    store.client.hset(store.keys.run(run), "cancel", "cancelled")
    with changes(store) as changed:
        assert store.start(name, token, WORKER, "message") is None
    assert changed == {
        "counters": {"fencedWrites": "1"},
        f"slots:{EXECUTOR}": {attempt_id(name, token): None},
        "wake": ["1"],
    }

"""cancel.lua: what has not ended is cancelled for good."""

from __future__ import annotations

import pytest

from marie_celery.errors import UnknownJob, UnknownRun
from marie_celery.model.retry import FailureKind
from marie_celery.store.keys import attempt_id, job_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    EXECUTOR,
    NOW,
    WORKER,
    advance_to_the_end,
    changes,
    complete,
    dag,
    dispatch,
    give_capacity,
    job,
    new_run,
    run_state,
    running,
    states,
    submit,
)


def test_a_cancelled_run_ends_with_all_its_jobs(store: Store) -> None:
    run = submit(store, dag({"a": [], "b": ["a"]}))
    a, b = job_id(run, 0), job_id(run, 1)
    with changes(store) as changed:
        assert store.cancel_run(run, "too dear", "ann")
    assert changed == {
        f"job:{a}": {"state": "cancelled", "reason": "too dear"},
        f"job:{b}": {"state": "cancelled", "reason": "too dear", "at": str(NOW)},
        f"new:{EXECUTOR}": {a: None},
        "rerank": {a: None},
        "ended": {run: NOW},
        f"run:{run}": {
            "state": "cancelled",
            "cancel": "too dear",
            "ended_at": str(NOW),
            "left": "0",
            "created": "0",
            "ready": "0",
            "cancelled": "2",
        },
        f"run:{run}:done": ["cancelled"],
        "events": [
            ("run", run, "created", "cancelling", "too dear"),
            ("job", a, "ready", "cancelled", "too dear"),
            ("job", b, "created", "cancelled", "too dear"),
            ("run", run, "created", "cancelled", "too dear"),
        ],
        "wake": ["1"],
    }


def test_a_running_process_keeps_its_slot_until_it_stops(store: Store) -> None:
    name, _, attempt = running(store)
    with changes(store) as changed:
        assert store.cancel_job(name, "no")
    assert f"slots:{EXECUTOR}" not in changed
    assert store.renew(WORKER, {}, {EXECUTOR: 10}, [attempt]) == [attempt]


@pytest.mark.parametrize("state", ["created", "ready", "dispatched", "active", "retry"])
def test_a_job_can_be_cancelled_in_every_open_state(store: Store, state: str) -> None:
    give_capacity(store)
    run = submit(store, dag({"a": [], "b": ["a"], "c": []}))
    name = job_id(run, 1 if state == "created" else 0)
    if state in ("dispatched", "active", "retry"):
        token = dispatch(store, name)
        if state != "dispatched":
            store.start(name, token, WORKER, attempt_id(name, token))
        if state == "retry":
            store.fail(name, token, WORKER, FailureKind.FAILURE, {})
    with changes(store) as changed:
        assert store.cancel_job(name, "no")
    assert changed[f"job:{name}"]["state"] == "cancelled"
    assert changed[f"run:{run}"][state] == ("1" if state == "ready" else "0")
    assert (changed.get(f"new:{EXECUTOR}") == {name: None}) == (state == "ready")
    assert (changed.get("delayed") == {name: None}) == (state == "retry")
    assert states(store, run)["b"] == ("cancelled" if state == "created" else "skipped")


def test_what_has_ended_stays_as_it_is(store: Store) -> None:
    name, token, _ = running(store)
    store.finish(name, token, WORKER, "1")
    with changes(store) as changed:
        assert not store.cancel_job(name)
        assert not store.cancel_run(name[:13])
    assert changed == {}


def test_what_nobody_knows_cannot_be_cancelled(store: Store) -> None:
    with changes(store) as changed, pytest.raises(UnknownRun):
        store.cancel_run("0000000000000")
    assert changed == {}
    with pytest.raises(UnknownJob):
        store.cancel_job("0000000000000-000000")


def test_a_wide_run_is_cancelled_by_advance_and_nothing_of_it_starts_meanwhile(store: Store) -> None:
    give_capacity(store)
    run = submit(store, new_run([job(f"j{number}") for number in range(2_500)]))
    advance_to_the_end(store)
    assert store.cancel_run(run)
    assert store.client.lrange(store.keys.advance, 0, -1) == [f"cancel {run} - 1000"]
    assert store.dispatch((), [(job_id(run, 2_000), 0)])[0].code == 2
    assert run_state(store, run) == "created"
    assert store.cancel_run(run, "again")
    assert advance_to_the_end(store) == 2
    assert run_state(store, run) == "cancelled"
    assert store.client.hmget(store.keys.run(run), "cancelled", "left", "cancel") == [
        "2500",
        "0",
        "cancelled",
    ]
    assert not store.client.exists(store.keys.new(EXECUTOR), store.keys.rerank)


def test_a_run_of_cancelled_and_completed_jobs_is_cancelled(store: Store) -> None:
    give_capacity(store)
    run = submit(store, new_run([job("a"), job("b")]))
    complete(store, job_id(run, 0))
    store.cancel_job(job_id(run, 1))
    assert run_state(store, run) == "cancelled"

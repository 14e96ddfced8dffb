"""fail.lua: another attempt after its delay, or the end."""

from __future__ import annotations

import json

import pytest

from marie_celery.model.retry import FailureKind, RetryPolicy
from marie_celery.store.keys import attempt_id, job_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    BURST,
    EXECUTOR,
    NOW,
    WORKER,
    advance_to_the_end,
    begin,
    changes,
    complete,
    dag,
    dispatch,
    dump,
    first_job,
    give_capacity,
    job,
    job_field,
    new_run,
    rank,
    run_state,
    running,
    states,
    submit,
)

ERROR = {"type": "ValueError", "message": "no"}


def test_a_failure_waits_for_its_retry(store: Store) -> None:
    name, token, attempt = running(store)
    store.now_ms = NOW + 10
    with changes(store) as changed:
        assert store.fail(name, token, WORKER, FailureKind.FAILURE, ERROR) == "retry"
    due = NOW + 2_010
    assert changed == {
        f"job:{name}": {
            "state": "retry",
            "at": str(NOW + 10),
            "reason": "failure",
            "failures": "1",
            "due": str(due),
        },
        f"run:{name[:13]}": {"active": "0", "retry": "1"},
        f"run:{name[:13]}:errors": {"0": json.dumps(ERROR)},
        f"slots:{EXECUTOR}": {attempt: None},
        f"worker:{WORKER}:jobs": {attempt: None},
        "delayed": {name: due},
        "events": [("job", name, "active", "retry", "failure")],
        "wake": ["1"],
    }


def test_a_crash_goes_back_to_the_front_at_once(store: Store) -> None:
    name, token, attempt = running(store)
    with changes(store) as changed:
        assert store.fail(name, token, WORKER, FailureKind.CRASH, ERROR) == "ready"
    assert changed == {
        f"job:{name}": {"state": "ready", "reason": "crash", "crashes": "1"},
        f"run:{name[:13]}": {"active": "0", "ready": "1"},
        f"run:{name[:13]}:errors": {"0": json.dumps(ERROR)},
        f"slots:{EXECUTOR}": {attempt: None},
        f"worker:{WORKER}:jobs": {attempt: None},
        f"ready:{EXECUTOR}": {name: rank(burst=True)},
        "rerank": {name: NOW + BURST},
        "events": [("job", name, "active", "ready", "crash")],
        "wake": ["1"],
    }


def test_the_last_failure_buries_the_job_and_skips_its_children(store: Store) -> None:
    give_capacity(store)
    run = submit(store, dag({"a": [], "b": ["a"]}, policy=RetryPolicy(retry_limit=0)))
    a, b = job_id(run, 0), job_id(run, 1)
    token = begin(store, a)
    with changes(store) as changed:
        assert store.fail(a, token, WORKER, FailureKind.FAILURE, ERROR) == "failed"
    assert changed == {
        f"job:{a}": {"state": "failed", "reason": "failed", "failures": "1"},
        f"job:{b}": {
            "state": "skipped",
            "reason": "upstream_failed",
            "at": str(NOW),
            "deps": "0",
            "failed_parents": "1",
        },
        f"run:{run}": {
            "active": "0",
            "failed": "1",
            "created": "0",
            "skipped": "1",
            "left": "0",
            "state": "failed",
            "ended_at": str(NOW),
        },
        f"run:{run}:errors": {"0": json.dumps(ERROR)},
        f"run:{run}:done": ["failed"],
        f"slots:{EXECUTOR}": {attempt_id(a, 1): None},
        f"worker:{WORKER}:jobs": {attempt_id(a, 1): None},
        "dead": {a: NOW},
        "active": {run: None},
        "ended": {run: NOW},
        "events": [
            ("job", a, "active", "failed", "failed"),
            ("job", b, "created", "skipped", "upstream_failed"),
            ("run", run, "active", "failed", ""),
        ],
        "wake": ["1"],
    }


@pytest.mark.parametrize(
    ("kind", "attempts", "reason"),
    [
        (FailureKind.FAILURE, 3, "failed"),
        (FailureKind.TIMEOUT, 4, "timeout"),
        (FailureKind.CRASH, 3, "poison"),
    ],
)
def test_each_kind_has_its_own_limit(store: Store, kind: FailureKind, attempts: int, reason: str) -> None:
    give_capacity(store)
    name = first_job(store)
    for count in range(1, attempts + 1):
        state = store.fail(name, begin(store, name), WORKER, kind, ERROR, delay_seconds=0)
        assert state == ("failed" if count == attempts else "ready")
    assert job_field(store, name, "reason") == reason
    assert job_field(store, name, "token") == str(attempts)


@pytest.mark.parametrize("kind", [FailureKind.FAILURE, FailureKind.TIMEOUT])
def test_the_waits_are_those_of_the_policy(store: Store, kind: FailureKind) -> None:
    policy = RetryPolicy(retry_limit=9, timeout_retry_limit=9, retry_max_delay=10, retry_jitter=0.5)
    give_capacity(store)
    name = first_job(store, new_run([job()], policy=policy))
    for count in range(1, 6):
        store.fail(name, begin(store, name), WORKER, kind, ERROR, roll=0.5)
        assert job_field(store, name, "due") == str(store.now_ms + round(policy.delay(count, 0.5) * 1000))
        store.now_ms = int(job_field(store, name, "due") or 0)
        assert store.promote() == (1, None)


def test_the_task_may_choose_its_delay_or_give_up(store: Store) -> None:
    name, token, _ = running(store)
    assert store.fail(name, token, WORKER, FailureKind.FAILURE, ERROR, delay_seconds=7.5) == "retry"
    assert store.client.zscore(store.keys.delayed, name) == NOW + 7_500
    store.now_ms = NOW + 7_500
    store.promote()
    token = begin(store, name)
    assert store.fail(name, token, WORKER, FailureKind.FAILURE, ERROR, give_up=True) == "failed"
    assert job_field(store, name, "reason") == "gave_up"


def test_a_process_that_died_before_the_start_counts_as_a_crash(store: Store) -> None:
    give_capacity(store)
    name = first_job(store)
    assert store.fail(name, dispatch(store, name), WORKER, FailureKind.CRASH, ERROR) == "ready"
    assert job_field(store, name, "crashes") == "1"


def test_an_old_token_changes_nothing(store: Store) -> None:
    name, old, _ = running(store)
    store.fail(name, old, WORKER, FailureKind.CRASH, ERROR)
    begin(store, name, "w2")
    with changes(store) as changed:
        assert store.fail(name, old, WORKER, FailureKind.FAILURE, {}) is None
    assert changed == {"counters": {"fencedWrites": "1"}, "wake": ["1"]}


def test_a_failure_after_the_cancel_frees_the_slot_only(store: Store) -> None:
    name, token, attempt = running(store)
    store.cancel_job(name)
    with changes(store) as changed:
        assert store.fail(name, token, WORKER, FailureKind.FAILURE, {}) is None
    assert changed == {
        "counters": {"fencedWrites": "1"},
        f"slots:{EXECUTOR}": {attempt: None},
        f"worker:{WORKER}:jobs": {attempt: None},
        "wake": ["1"],
    }


def failing_fast(store: Store) -> str:
    """Four jobs side by side of which two have failed."""
    give_capacity(store)
    run = submit(store, new_run([job(name) for name in "abcd"], fail_fast=1))
    tokens = [begin(store, job_id(run, number)) for number in range(3)]
    for number in (0, 1):
        store.fail(job_id(run, number), tokens[number], WORKER, FailureKind.FAILURE, ERROR, give_up=True)
    assert store.client.lrange(store.keys.advance, 0, -1) == [f"fail_fast {run} - 0"] * 2
    return run


def test_fail_fast_cancels_the_rest_and_the_run_has_failed(store: Store) -> None:
    run = failing_fast(store)
    assert store.advance() == 1
    assert states(store, run) == {"a": "failed", "b": "failed", "c": "cancelled", "d": "cancelled"}
    assert run_state(store, run) == "failed"
    ended = dump(store)
    assert store.advance() == 0
    assert dump(store) == {key: value for key, value in ended.items() if key != "advance"}


def test_fail_fast_comes_too_late_for_a_run_that_has_ended_or_was_cancelled(store: Store) -> None:
    run = failing_fast(store)
    store.cancel_run(run, "changed my mind")
    ended = dump(store)
    advance_to_the_end(store)
    assert dump(store) == {key: value for key, value in ended.items() if key != "advance"}
    assert run_state(store, run) == "cancelled"


def test_without_fail_fast_the_others_go_on(store: Store) -> None:
    name, token, _ = running(store, new_run([job("a"), job("b")]))
    store.fail(name, token, WORKER, FailureKind.FAILURE, ERROR, give_up=True)
    complete(store, job_id(name[:13], 1))
    assert run_state(store, name[:13]) == "failed"

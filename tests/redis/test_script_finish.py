"""finish.lua: the result is stored, the slot is free, and what comes next is unblocked."""

from __future__ import annotations

import math

import pytest

from marie_celery.model.retry import FailureKind
from marie_celery.planning import RuntimeEstimate
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
    first_job,
    give_capacity,
    job,
    new_run,
    rank,
    run_state,
    running,
    states,
    submit,
)


def test_the_last_job_completes_the_run(store: Store) -> None:
    name, token, attempt = running(store)
    run = name[:13]
    store.now_ms = NOW + 10
    with changes(store) as changed:
        assert store.finish(name, token, WORKER, '"r"')
    assert changed == {
        f"job:{name}": {"state": "completed", "at": str(NOW + 10)},
        f"run:{run}": {
            "active": "0",
            "completed": "1",
            "left": "0",
            "state": "completed",
            "ended_at": str(NOW + 10),
        },
        f"run:{run}:results": {"0": '"r"'},
        f"run:{run}:done": ["completed"],
        "active": {run: None},
        "ended": {run: NOW + 10},
        "estimates": {"t": f"1 {math.log(10):.17g} 0.5"},
        f"slots:{EXECUTOR}": {attempt: None},
        f"worker:{WORKER}:jobs": {attempt: None},
        "events": [("job", name, "active", "completed", ""), ("run", run, "active", "completed", "")],
    }


def test_a_child_is_ready_when_its_last_parent_has_ended(store: Store) -> None:
    give_capacity(store)
    run = submit(store, dag({"a": [], "b": [], "c": ["a", "b"]}))
    a, b, c = (job_id(run, number) for number in range(3))
    token = begin(store, a)
    with changes(store) as changed:
        store.finish(a, token, WORKER, "1")
    assert changed[f"job:{c}"] == {"deps": "1"}
    token = begin(store, b)
    with changes(store) as changed:
        store.finish(b, token, WORKER, "2")
    assert changed == {
        f"job:{b}": {"state": "completed"},
        f"job:{c}": {"deps": "0", "state": "ready", "at": str(NOW), "reason": ""},
        f"ready:{EXECUTOR}": {c: rank(level=1, runtime=128, burst=True)},
        "rerank": {c: NOW + BURST},
        "estimates": {"t": "2 0 0.25"},
        f"run:{run}": {"active": "0", "completed": "2", "left": "1", "created": "0", "ready": "1"},
        f"run:{run}:results": {"1": "2"},
        f"slots:{EXECUTOR}": {attempt_id(b, 1): None},
        f"worker:{WORKER}:jobs": {attempt_id(b, 1): None},
        "events": [("job", b, "active", "completed", ""), ("job", c, "created", "ready", "")],
        "wake": ["1"],
    }


def test_a_skip_has_a_reason_and_no_result(store: Store) -> None:
    give_capacity(store)
    run = submit(store, dag({"a": [], "b": ["a"]}))
    a, b = job_id(run, 0), job_id(run, 1)
    token = begin(store, a)
    with changes(store) as changed:
        assert store.skip(a, token, WORKER, "empty page")
    assert changed == {
        f"job:{a}": {"state": "skipped", "reason": "empty page"},
        f"job:{b}": {
            "deps": "0",
            "skipped_parents": "1",
            "state": "skipped",
            "reason": "all_parents_skipped",
            "at": str(NOW),
        },
        f"run:{run}": {
            "active": "0",
            "created": "0",
            "skipped": "2",
            "left": "0",
            "state": "completed",
            "ended_at": str(NOW),
        },
        f"run:{run}:done": ["completed"],
        "active": {run: None},
        "ended": {run: NOW},
        f"slots:{EXECUTOR}": {attempt_id(a, 1): None},
        f"worker:{WORKER}:jobs": {attempt_id(a, 1): None},
        "events": [
            ("job", a, "active", "skipped", "empty page"),
            ("job", b, "created", "skipped", "all_parents_skipped"),
            ("run", run, "active", "completed", ""),
        ],
    }


ENDS = ["completed", "skipped", "failed", "cancelled"]


def end(store: Store, name: str, how: str) -> None:
    if how == "cancelled":
        assert store.cancel_job(name)
        return
    token = begin(store, name)
    if how == "completed":
        store.finish(name, token, WORKER, "1")
    elif how == "skipped":
        store.skip(name, token, WORKER, "")
    else:
        store.fail(name, token, WORKER, FailureKind.FAILURE, {}, give_up=True)


@pytest.mark.parametrize(
    ("rule", "first", "then", "middle", "last"),
    [
        ("all_success", "completed", "completed", "created", "ready"),
        ("all_success", "completed", "skipped", "created", "ready"),
        ("all_success", "skipped", "skipped", "created", "skipped"),
        ("all_success", "failed", "completed", "skipped", "skipped"),
        ("all_success", "cancelled", "completed", "skipped", "skipped"),
        ("none_failed", "skipped", "skipped", "created", "ready"),
        ("none_failed", "completed", "failed", "created", "skipped"),
        ("all_done", "failed", "cancelled", "created", "ready"),
        ("all_done", "completed", "skipped", "created", "ready"),
        ("one_success", "completed", "failed", "ready", "ready"),
        ("one_success", "failed", "completed", "created", "ready"),
        ("one_success", "skipped", "failed", "created", "skipped"),
        ("one_success", "skipped", "skipped", "created", "skipped"),
        ("one_failed", "failed", "completed", "ready", "ready"),
        ("one_failed", "completed", "cancelled", "created", "ready"),
        ("one_failed", "completed", "skipped", "created", "skipped"),
    ],
)
def test_a_join(store: Store, rule: str, first: str, then: str, middle: str, last: str) -> None:
    give_capacity(store)
    run = submit(store, dag({"a": [], "b": [], "c": ["a", "b"]}, {"c": rule}))
    end(store, job_id(run, 0), first)
    assert states(store, run)["c"] == middle
    end(store, job_id(run, 1), then)
    assert states(store, run) == {"a": first, "b": then, "c": last}
    if last == "ready":
        complete(store, job_id(run, 2))
    worst = next((how for how in ("failed", "cancelled") if how in (first, then)), "completed")
    assert run_state(store, run) == worst


def test_a_failure_spreads_down_a_chain_to_the_job_that_takes_it(store: Store) -> None:
    give_capacity(store)
    parents = {"a": [], "b": ["a"], "c": ["b"], "d": ["c"], "e": ["d"]}
    run = submit(store, dag(parents, {"d": "one_failed"}))
    end(store, job_id(run, 0), "failed")
    assert states(store, run) == {"a": "failed", "b": "skipped", "c": "skipped", "d": "ready", "e": "created"}
    reasons = [store.client.hget(store.keys.job(job_id(run, number)), "reason") for number in (1, 2)]
    assert reasons == ["upstream_failed", "upstream_failed"]


def stale_tokens(store: Store) -> tuple[str, int, int]:
    """A job at its second attempt: its id, the old token and the current one."""
    name, old, _ = running(store)
    store.fail(name, old, WORKER, FailureKind.CRASH, {})
    return name, old, begin(store, name, "w2")


@pytest.mark.parametrize("way", ["finish", "skip"])
def test_an_old_token_changes_nothing(store: Store, way: str) -> None:
    name, old, _ = stale_tokens(store)
    with changes(store) as changed:
        assert not getattr(store, way)(name, old, WORKER, "1")
    assert changed == {"counters": {"fencedWrites": "1"}, "wake": ["1"]}


def test_a_dispatched_job_cannot_finish_and_its_slot_is_free(store: Store) -> None:
    give_capacity(store)
    name = first_job(store)
    token = dispatch(store, name)
    with changes(store) as changed:
        assert not store.finish(name, token, WORKER, "1")
    assert changed == {
        "counters": {"fencedWrites": "1"},
        f"slots:{EXECUTOR}": {attempt_id(name, token): None},
        "wake": ["1"],
    }


def test_a_result_after_the_cancel_frees_the_slot_only(store: Store) -> None:
    name, token, attempt = running(store)
    store.cancel_job(name)
    with changes(store) as changed:
        assert not store.finish(name, token, WORKER, "1")
        assert not store.finish("0000000000000-000000", 1, WORKER, "1")
    assert changed == {
        "counters": {"fencedWrites": "2"},
        f"slots:{EXECUTOR}": {attempt: None},
        f"worker:{WORKER}:jobs": {attempt: None},
        "wake": ["1"],
    }


def test_a_fan_out_wider_than_one_call_is_finished_by_advance(store: Store) -> None:
    give_capacity(store)
    width = 2_500
    wide = [job(f"j{number}", deps=1, parents=1, level=1) for number in range(width)]
    run = submit(store, new_run([job("a", children=f"1-{width}"), *wide], roots=[0]))
    complete(store, job_id(run, 0))
    assert store.client.zcard(store.keys.ready(EXECUTOR)) == 1_000
    assert store.client.lrange(store.keys.advance, 0, -1) == [f"spread {job_id(run, 0)} completed 1000"]
    assert advance_to_the_end(store) == 2
    assert store.client.zcard(store.keys.ready(EXECUTOR)) == width
    assert store.client.hmget(store.keys.run(run), "created", "ready", "left") == ["0", "2500", "2500"]


def test_a_runtime_is_learned_from_completions_only(store: Store) -> None:
    for how in ("skipped", "failed", "cancelled"):
        give_capacity(store)
        end(store, first_job(store), how)
    assert not store.client.exists(store.keys.estimates)
    name, token, _ = running(store)
    store.now_ms = NOW + 2_000
    store.finish(name, token, WORKER, "1")
    assert RuntimeEstimate.from_text(store.client.hget(store.keys.estimates, "t")).seconds == pytest.approx(2)


def test_a_clock_that_went_back_teaches_the_shortest_runtime(store: Store) -> None:
    name, token, _ = running(store)
    store.now_ms = NOW - 9_000
    assert store.finish(name, token, WORKER, "1")
    assert store.client.hget(store.keys.estimates, "t") == "1 0 0.5"

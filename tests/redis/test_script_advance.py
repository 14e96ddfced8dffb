"""advance.lua: long work goes on piece by piece."""

from __future__ import annotations

from marie_celery.store.keys import job_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    EXECUTOR,
    advance_to_the_end,
    begin,
    changes,
    give_capacity,
    job,
    new_run,
    run_state,
    submit,
)


def test_without_work_nothing_changes(store: Store) -> None:
    with changes(store) as changed:
        assert store.advance() == 0
    assert changed == {}


def test_one_call_does_one_piece_and_wakes_for_the_next(store: Store) -> None:
    store.client.rpush(store.keys.advance, "delete 0000000000001 - 0", "delete 0000000000002 - 0")
    with changes(store) as changed:
        assert store.advance() == 1
    assert changed == {"advance": ["delete 0000000000002 - 0"], "wake": ["1"]}


def test_skips_that_spread_wider_than_one_call_end_the_run(store: Store) -> None:
    give_capacity(store)
    width = 1_100
    middle = [job(f"m{n}", deps=1, parents=1, level=1, children=width + n) for n in range(1, width + 1)]
    leaves = [job(f"l{n}", deps=1, parents=1, level=2) for n in range(width)]
    run = submit(store, new_run([job("a", children=f"1-{width}"), *middle, *leaves], roots=[0]))
    first = job_id(run, 0)
    assert store.skip(first, begin(store, first), "w1", "")
    assert run_state(store, run) == "active"
    advance_to_the_end(store)
    assert run_state(store, run) == "completed"
    assert store.client.hmget(store.keys.run(run), "skipped", "left", "created") == ["2201", "0", "0"]


def test_an_abandoned_submission_of_many_jobs_is_deleted_in_pieces(store: Store) -> None:
    run = "0000000000001"
    store.client.hset(store.keys.run(run), mapping={"state": "staging", "jobs": 2_100})
    for number in range(2_100):
        store.client.hset(store.keys.job(job_id(run, number)), "state", "created")
    store.client.rpush(store.keys.advance, f"delete {run} - 0")
    assert advance_to_the_end(store) == 3
    assert store.client.keys() == [store.keys.wake]


def test_work_for_a_run_that_is_gone_is_dropped(store: Store) -> None:
    for verb in (
        "spread 0000000000001-000000 failed 0",
        "roots 0000000000001 - 0",
        "cancel 0000000000001 - 0",
        "greet 0000000000001 roots 0",
        "greet 0000000000001 jobs 0",
        "fields 0000000000001 priority=9 0",
        "missed 0000000000001 soft 0",
        "missed 0000000000001 expire 0",
        f"stale ready:{EXECUTOR} - 0",
    ):
        store.client.rpush(store.keys.advance, verb)
    store.client.rpush(store.keys.advance, "fail_fast 0000000000001 - 0")
    with changes(store) as changed:
        advance_to_the_end(store)
    assert changed == {"advance": None, "wake": ["1"]}

"""dispatch.lua: runs begin, and new ones get their share without crowding out those that have begun."""

from __future__ import annotations

import pytest

from marie_celery.store.codes import Code
from marie_celery.store.keys import job_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    BURST,
    EXECUTOR,
    NOW,
    WORKER,
    advance_to_the_end,
    changes,
    complete,
    dag,
    dispatch,
    first_job,
    give_capacity,
    job,
    new_run,
    put_in_force,
    rank,
    submit,
)


def codes(store: Store, *jobs: str) -> list[int]:
    return [claim.code for claim in store.dispatch((), [(each, 0) for each in jobs])]


def credit(store: Store) -> int:
    return int(store.client.hget(store.keys.executor(EXECUTOR), "credit") or 0)


def begun_and_new(store: Store, size: int = 4) -> tuple[list[str], list[str]]:
    """Ready jobs of a run that has begun, and of new runs with one job each."""
    give_capacity(store, slots=1_000)
    run = submit(store, new_run([job(f"j{number}") for number in range(size + 1)]))
    dispatch(store, job_id(run, 0))
    return [job_id(run, number + 1) for number in range(size)], [first_job(store) for _ in range(size)]


def test_the_other_roots_of_a_run_that_begins_move_over(store: Store) -> None:
    give_capacity(store)
    run = submit(store, dag({"a": [], "b": [], "c": ["a"]}))
    a, b = job_id(run, 0), job_id(run, 1)
    with changes(store) as changed:
        dispatch(store, a)
    assert changed == {
        f"job:{a}": {"state": "dispatched", "token": "1"},
        f"run:{run}": {"state": "active", "started_at": str(NOW), "ready": "1", "dispatched": "1"},
        f"new:{EXECUTOR}": {a: None, b: None},
        f"ready:{EXECUTOR}": {b: rank(burst=True)},
        "rerank": {a: None, b: NOW + BURST},
        "active": {run: NOW},
        f"slots:{EXECUTOR}": {f"{a}.1": NOW + 5_000},
        "events": [("job", a, "ready", "dispatched", ""), ("run", run, "created", "active", "")],
    }


def test_more_roots_than_one_call_may_touch_move_over_by_advance(store: Store) -> None:
    give_capacity(store)
    run = submit(store, new_run([job(f"j{number}") for number in range(2_100)]))
    advance_to_the_end(store)
    dispatch(store, job_id(run, 0))
    assert store.client.zcard(store.keys.ready(EXECUTOR)) == 999
    assert store.client.lrange(store.keys.advance, 0, -1) == [f"greet {run} roots 1000"]
    assert codes(store, job_id(run, 2_000)) == [Code.OK]
    assert advance_to_the_end(store) == 2
    assert store.client.zcard(store.keys.ready(EXECUTOR)) == 2_098
    assert not store.client.exists(store.keys.new(EXECUTOR))


def test_a_job_let_go_by_a_cancelled_one_moves_over_too(store: Store) -> None:
    give_capacity(store)
    put_in_force(store, "global", max_active_dags=1)
    run = submit(store, dag({"a": [], "b": [], "c": ["a"]}, {"c": "all_done"}))
    store.cancel_job(job_id(run, 0))
    c = job_id(run, 2)
    assert store.client.zscore(store.keys.new(EXECUTOR), c) is not None
    dispatch(store, job_id(run, 1))
    assert store.client.zrange(store.keys.ready(EXECUTOR), 0, -1) == [c]
    assert [each.job_id for each in store.peek(9, 9).rooms[0].candidates] == [c]


def test_a_choice_for_a_begun_run_earns_and_one_for_a_new_run_costs(store: Store) -> None:
    active, new = begun_and_new(store)
    with changes(store) as changed:
        dispatch(store, active[0])
    assert changed[f"executor:{EXECUTOR}"] == {"credit": "300"}
    dispatch(store, active[1])
    assert credit(store) == 600
    dispatch(store, new[0])
    assert credit(store) == -100


def test_a_choice_between_one_kind_only_earns_and_costs_nothing(store: Store) -> None:
    give_capacity(store)
    first, second = first_job(store), first_job(store)
    dispatch(store, first)
    dispatch(store, second)
    run = submit(store, new_run([job("a"), job("b")]))
    dispatch(store, job_id(run, 0))
    dispatch(store, job_id(run, 1))
    assert store.client.hget(store.keys.executor(EXECUTOR), "credit") is None


def test_the_last_choice_between_both_kinds_counts(store: Store) -> None:
    active, new = begun_and_new(store, size=1)
    assert codes(store, *new, *active) == [Code.OK, Code.OK]
    assert credit(store) == -700


def test_each_executor_keeps_its_own_account(store: Store) -> None:
    begun_and_new(store)
    give_capacity(store, worker="w2", executor="gpu")
    dispatch(store, first_job(store, new_run([job(executor="gpu")])))
    assert store.client.hget(store.keys.executor("gpu"), "credit") is None


@pytest.mark.parametrize("name", ["classic", "fifo"])
def test_a_planner_that_does_not_put_begun_runs_first_keeps_no_account(store: Store, name: str) -> None:
    put_in_force(store, name)
    active, new = begun_and_new(store)
    assert codes(store, active[0], new[0]) == [Code.OK, Code.OK]
    assert store.client.hget(store.keys.executor(EXECUTOR), "credit") is None


def test_no_more_runs_begin_than_may_be_active(store: Store) -> None:
    put_in_force(store, "global", max_active_dags=2)
    give_capacity(store)
    runs = [submit(store, new_run([job("a"), job("b")])) for _ in range(3)]
    first = [job_id(run, 0) for run in runs]
    assert codes(store, *first) == [Code.OK, Code.OK, Code.DAG_LIMIT]
    with changes(store) as changed:
        assert codes(store, first[2]) == [Code.DAG_LIMIT]
    assert changed == {}
    assert codes(store, job_id(runs[0], 1)) == [Code.OK]
    for number in (0, 1):
        store.start(job_id(runs[0], number), 1, WORKER, "message")
        store.finish(job_id(runs[0], number), 1, WORKER, "1")
    assert codes(store, first[2]) == [Code.OK]


def test_runs_that_may_not_begin_save_nothing_up(store: Store) -> None:
    put_in_force(store, "global", max_active_dags=1)
    active, new = begun_and_new(store)
    assert codes(store, *active[:3], new[0]) == [Code.OK, Code.OK, Code.OK, Code.DAG_LIMIT]
    assert store.client.hget(store.keys.executor(EXECUTOR), "credit") is None


def test_a_full_executor_is_full_for_new_runs_as_well(store: Store) -> None:
    put_in_force(store, "global", max_active_dags=1)
    give_capacity(store, slots=1)
    complete(store, first_job(store))
    first, second = first_job(store), first_job(store)
    assert codes(store, first, second) == [Code.OK, Code.FULL]

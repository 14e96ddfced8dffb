"""replan.lua: another planner comes into force, and what waits gets new places."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from marie_celery.planning import planner
from marie_celery.planning.policy import policy_fields
from marie_celery.store.keys import job_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    AGEING_STEP,
    EXECUTOR,
    NOW,
    advance_to_the_end,
    begin,
    changes,
    dispatch,
    first_job,
    give_capacity,
    job,
    new_run,
    put_in_force,
    rank,
    states,
    submit,
)

SETS = ("ready", "new", "stale_ready", "stale_new")


def standing(store: Store) -> Counter[str]:
    """job → in how many sets of ready jobs it stands."""
    found: Counter[str] = Counter()
    for executor in store.client.smembers(store.keys.executors):
        for name in SETS:
            found.update(store.client.zrange(getattr(store.keys, name)(executor), 0, -1))
    return found


def assert_each_stands_once(store: Store, *runs: str) -> None:
    ids = [job_id(run, n) for run in runs for n in range(int(store.client.hget(store.keys.run(run), "jobs")))]
    with store.client.pipeline(transaction=False) as pipe:
        for name in ids:
            pipe.hget(store.keys.job(name), "state")
        ready = [name for name, state in zip(ids, pipe.execute(), strict=True) if state == "ready"]
    assert standing(store) == Counter(dict.fromkeys(ready, 1))


def test_the_first_planner_is_put_in_force_and_ranks_what_waits_again(store: Store) -> None:
    name = first_job(store)
    policy = policy_fields(planner("sjfs"), name="sjfs", max_active_dags=7)
    with changes(store) as changed:
        assert store.replan(policy, by="ann") == 1
    assert changed.pop("planner").items() >= policy.items()
    assert changed == {
        f"new:{EXECUTOR}": {name: None},
        f"stale:new:{EXECUTOR}": {name: rank(new=True)},
        "advance": [f"stale new:{EXECUTOR} - 0"],
        "events": [("planner", "sjfs", "", "sjfs", "")],
        "wake": ["1"],
    }
    assert store.policy() == policy
    with changes(store) as changed:
        assert store.advance() == 0
    assert changed == {
        f"stale:new:{EXECUTOR}": {name: None},
        f"new:{EXECUTOR}": {name: (4095 << 21 | (1_999_999 - 50)) << 17 | 131_071},
        "advance": None,
        "wake": ["1"],
    }


def test_the_planner_that_is_in_force_already_changes_nothing(store: Store) -> None:
    first_job(store)
    put_in_force(store, "hrrn")
    advance_to_the_end(store)
    with changes(store) as changed:
        assert put_in_force(store, "hrrn") == 0
    assert changed == {}


@pytest.mark.parametrize("knob", ["max_active_dags", "new_dag_share"])
def test_another_knob_of_the_same_planner_comes_into_force(store: Store, knob: str) -> None:
    put_in_force(store, "global")
    assert put_in_force(store, "global", **{knob: 1}) == 0
    assert store.policy() == policy_fields(planner("global"), **{knob: 1})


def test_a_field_that_is_gone_is_a_change(store: Store) -> None:
    policy = policy_fields(planner("global"))
    store.replan({**policy, "by": "ann"})
    with changes(store) as changed:
        store.replan(policy)
    assert changed["planner"] == {"by": None}
    assert "by" not in store.policy()


def test_jobs_of_runs_that_have_begun_come_back_to_theirs(store: Store) -> None:
    give_capacity(store)
    run = submit(store, new_run([job("a"), job("b")]))
    dispatch(store, job_id(run, 0))
    fresh = first_job(store)
    store.now_ms = NOW + 20_000
    assert put_in_force(store, "static") == 2
    advance_to_the_end(store)
    assert store.client.zrange(store.keys.ready(EXECUTOR), 0, -1, withscores=True) == [(job_id(run, 1), 949.0)]
    assert store.client.zrange(store.keys.new(EXECUTOR), 0, -1, withscores=True) == [(fresh, 949.0)]
    assert not store.client.exists(store.keys.rerank)


def test_a_run_that_begins_during_the_swap_is_found_where_it_belongs(store: Store) -> None:
    give_capacity(store)
    run = submit(store, new_run([job("a"), job("b")]))
    put_in_force(store, "classic")
    dispatch(store, job_id(run, 0))
    assert_each_stands_once(store, run)
    advance_to_the_end(store)
    assert store.client.zrange(store.keys.ready(EXECUTOR), 0, -1) == [job_id(run, 1)]
    assert_each_stands_once(store, run)


def test_jobs_that_are_set_aside_can_be_cancelled_and_raised(store: Store) -> None:
    run = submit(store, new_run([job("a"), job("b")]))
    put_in_force(store, "classic")
    store.cancel_job(job_id(run, 0))
    store.reprioritise(job_id(run, 1), priority=90)
    assert_each_stands_once(store, run)
    advance_to_the_end(store)
    assert_each_stands_once(store, run)
    assert store.client.zrange(store.keys.new(EXECUTOR), 0, -1) == [job_id(run, 1)]


def test_more_jobs_than_one_call_may_touch_come_back_piece_by_piece_best_first(store: Store) -> None:
    run = submit(store, new_run([job(f"j{number}", priority=number % 100) for number in range(2_300)]))
    advance_to_the_end(store)
    before = store.client.zrange(store.keys.new(EXECUTOR), 0, -1)
    assert put_in_force(store, "fifo") == 2_300
    assert store.advance() == 1
    assert sorted(before[:1_000]) == sorted(store.client.zrange(store.keys.new(EXECUTOR), 0, -1))
    assert store.client.zrange(store.keys.stale_new(EXECUTOR), 0, -1) == before[1_000:]
    assert advance_to_the_end(store) == 2
    assert store.client.zrange(store.keys.new(EXECUTOR), 0, -1) == [job_id(run, n) for n in range(2_300)]


def test_an_executor_with_a_space_in_its_name_loses_nothing(store: Store) -> None:
    submit(store, new_run([job("a", executor="my ocr")]))
    put_in_force(store, "fifo")
    advance_to_the_end(store)
    assert store.client.zcard(store.keys.new("my ocr")) == 1


@pytest.mark.parametrize("seed", range(3))
def test_swap_after_swap_loses_and_doubles_nothing(store: Store, seed: int) -> None:
    """Whatever happens between the pieces: each ready job stands in exactly one set, at every moment."""
    dice = random.Random(seed)
    give_capacity(store, slots=10_000)
    runs = [submit(store, new_run([job(f"j{number}") for number in range(1_050)])) for _ in range(2)]
    advance_to_the_end(store)
    planners = ["hrrn", "slack", "classic", "fifo", "global", "sjfs"]

    def some_job() -> str:
        return job_id(dice.choice(runs), dice.randrange(1_050))

    def age() -> None:
        store.now_ms = (store.now_ms or 0) + AGEING_STEP
        store.rerank(dice.choice([10, 1_000]))

    def book() -> None:
        store.dispatch((), [(some_job(), 0) for _ in range(10)])

    def cancel() -> None:
        store.cancel_job(some_job())

    def change() -> None:
        store.reprioritise(some_job(), priority=dice.randint(0, 200))

    for _ in range(14):
        put_in_force(store, planners[0])
        planners.append(planners.pop(0))
        for step in dice.choices([age, book, cancel, change, store.advance], k=4):
            step()
        assert_each_stands_once(store, *runs)
    advance_to_the_end(store)
    assert_each_stands_once(store, *runs)
    for run in runs:
        ready = sum(state == "ready" for state in states(store, run).values())
        assert store.client.hget(store.keys.run(run), "ready") == str(ready)
        assert ready > 900
    assert not store.client.exists(store.keys.stale_ready(EXECUTOR), store.keys.stale_new(EXECUTOR))


def test_a_swap_does_not_disturb_what_runs(store: Store) -> None:
    give_capacity(store)
    name = first_job(store)
    token = begin(store, name)
    assert put_in_force(store, "hrrn") == 0
    assert store.finish(name, token, "w1", "1")

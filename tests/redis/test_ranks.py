"""Ranks and estimates are computed twice, in Lua and in Python. They agree number for number."""

from __future__ import annotations

import math
import random
from typing import Any

import fakeredis
import pytest
import redis
from hypothesis import HealthCheck, given
from hypothesis import settings as options
from hypothesis import strategies as st

from marie_celery.planning import PLANNERS, PlanningSettings, RuntimeEstimate, planner
from marie_celery.planning.keys import KEYS
from marie_celery.planning.policy import policy_fields
from marie_celery.scheduler.choice import flat_job
from marie_celery.store.keys import job_id
from marie_celery.store.scripts import source
from marie_celery.store.store import Store
from tests.redis.rank_rows import HOUR, ranks_in_lua, rows, settings
from tests.redis.redis_runs import (
    EXECUTOR,
    NOW,
    advance_to_the_end,
    dispatch,
    give_capacity,
    job,
    new_run,
    put_in_force,
    submit,
)

ROWS_OF_KEYS = ["priority, estimated_runtime", *(name for name, key in KEYS.items() if key.in_rank)]
NAMES = [*PLANNERS, *ROWS_OF_KEYS]


def compare(client: Any, name: str, data: st.DataObject, by: PlanningSettings, size: int) -> None:
    chosen = planner(name, by)
    drawn = data.draw(st.lists(rows(by), min_size=size, max_size=size))
    found = ranks_in_lua(client, policy_fields(chosen, name=name), drawn)
    for row, place in zip(drawn, found, strict=True):
        expected = chosen.rank(row.job, row.now_ms)
        assert place == tuple(expected), row
        assert place[0] < 2**53
        assert place[1] is None or place[1] > row.now_ms


@pytest.mark.parametrize("name", NAMES)
@options(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), by=settings)
def test_ranks_in_redis_are_those_of_the_planner(
    real_client: redis.Redis, name: str, data: st.DataObject, by: PlanningSettings
) -> None:
    compare(real_client, name, data, by, size=12)


@pytest.mark.parametrize("name", PLANNERS)
@options(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), by=settings)
def test_ranks_in_fakeredis_are_those_of_the_planner(name: str, data: st.DataObject, by: PlanningSettings) -> None:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer(), decode_responses=True) as client:
        compare(client, name, data, by, size=10)


def some_jobs(dice: random.Random, number: int) -> list[Any]:
    """Jobs with every field that decides a place, or without it."""
    jobs = []
    for each in range(number):
        soft = dice.choice([None, NOW + dice.randint(-2 * HOUR, 5 * HOUR)])
        known = {
            "soft": soft,
            "hard": dice.choice([None, (soft or NOW) + dice.randint(0, 5 * HOUR)]),
            "estimate": dice.choice([None, 0, 1, dice.randint(2, 10**6)]),
            "path": dice.choice([None, dice.randint(0, 10**7)]),
        }
        given = {field: value for field, value in known.items() if value is not None}
        level, priority = dice.choice([0, 1, 7, 200_000]), dice.randint(0, 120)
        task = dice.choice(["t", "known"])
        jobs.append(job(f"j{each}", level=level, priority=priority, task=task, **given))
    return jobs


def places(store: Store) -> dict[str, tuple[str, float]]:
    """job → the set it stands in, and its score. Fails if it is in two of them."""
    found: dict[str, tuple[str, float]] = {}
    for key in (store.keys.ready(EXECUTOR), store.keys.new(EXECUTOR)):
        for name, score in store.client.zrange(key, 0, -1, withscores=True):
            assert name not in found
            found[name] = (key, score)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_what_waits_stands_where_the_planner_says_whatever_time_it_is(store: Store, name: str) -> None:
    store.client.hset(store.keys.estimates, "known", RuntimeEstimate(5, math.log(1_234.4), 0.5).as_text())
    put_in_force(store, name)
    give_capacity(store, slots=1_000)
    dice = random.Random(name)
    runs = []
    for _ in range(4):
        runs.append(submit(store, new_run(some_jobs(dice, 8))))
        store.now_ms = (store.now_ms or 0) + dice.randint(0, 20_000)
    for run in runs[:2]:
        dispatch(store, job_id(run, 0))
    chosen = planner(name)
    for _ in range(6):
        while store.rerank(3)[1] == 0.0:
            pass
        outlook = store.peek(1_000, 1_000)
        jobs = {each.job_id: flat_job(each) for each in outlook.rooms[0].candidates}
        found = places(store)
        assert found.keys() == jobs.keys()
        assert len(found) == 30
        until = dict(store.client.zrange(store.keys.rerank, 0, -1, withscores=True))
        for each, flat in jobs.items():
            key = store.keys.new(EXECUTOR) if flat.new_dag else store.keys.ready(EXECUTOR)
            rank = chosen.rank(flat, outlook.now_ms)
            assert found[each] == (key, rank.score)
            assert until.get(each) == rank.valid_until_ms
        store.now_ms = outlook.now_ms + dice.choice([1, 999, 10_000, 300_000, HOUR])


def test_without_a_planner_in_force_the_standard_one_with_its_defaults_ranks(store: Store) -> None:
    run = submit(store, new_run(some_jobs(random.Random(0), 20)))
    before = places(store)
    put_in_force(store, "global")
    advance_to_the_end(store)
    assert places(store) == before
    assert len(before) == int(store.client.hget(store.keys.run(run), "ready")) == 20


_OBSERVE_ALL = """
for i = 3, #ARGV do observe_runtime('t', tonumber(ARGV[i])) end
return redis.call('HGET', P .. 'estimates', 't')"""


def observe_in_lua(client: Any, runtimes: list[int]) -> RuntimeEstimate:
    text = source("finish")
    client.delete("p:estimates")
    begin = text[: text.index("\nlocal function run()")]
    return RuntimeEstimate.from_text(client.eval(begin + _OBSERVE_ALL, 1, "p:", "0", "10", *runtimes))


runtimes = st.lists(
    st.integers(0, 3) | st.integers(0, 10**4) | st.integers(0, 10**9) | st.sampled_from([1_000, 1_001]),
    min_size=1,
    max_size=40,
)


@options(max_examples=300, deadline=None)
@given(seen=runtimes)
def test_estimates_in_redis_are_those_of_the_model(real_client: redis.Redis, seen: list[int]) -> None:
    expected = RuntimeEstimate()
    for ms in seen:
        expected = expected.observe(ms / 1000)
    found = observe_in_lua(real_client, seen)
    assert found.count == expected.count == len(seen)
    assert math.isclose(found.centre, expected.centre, rel_tol=1e-9, abs_tol=1e-9)
    assert math.isclose(found.spread, expected.spread, rel_tol=1e-9, abs_tol=1e-9)


def test_estimates_in_fakeredis_are_those_of_the_model(fake_store: Store) -> None:
    dice = random.Random(1)
    seen = [dice.randint(0, 10**6) for _ in range(200)]
    expected = RuntimeEstimate()
    for ms in seen:
        expected = expected.observe(ms / 1000)
    found = observe_in_lua(fake_store.client, seen)
    assert math.isclose(found.centre, expected.centre, rel_tol=1e-9)
    assert math.isclose(found.spread, expected.spread, rel_tol=1e-9)

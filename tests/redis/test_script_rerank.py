"""rerank.lua: ready jobs whose place has changed by time alone."""

from __future__ import annotations

import pytest

from marie_celery.model.sla import BUCKET_MS
from marie_celery.store.keys import job_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    AGEING_STEP,
    BURST,
    EXECUTOR,
    NOW,
    changes,
    dispatch,
    first_job,
    give_capacity,
    job,
    new_run,
    put_in_force,
    rank,
    submit,
)


def test_with_nothing_that_changes_there_is_nothing_to_do(store: Store) -> None:
    first_job(store, new_run([job(priority=100)]))
    assert store.client.zcard(store.keys.new(EXECUTOR)) == 1
    with changes(store) as changed:
        assert store.rerank() == (0, None)
    assert changed == {}


def test_a_place_is_right_until_its_moment(store: Store) -> None:
    first_job(store)
    store.now_ms = NOW + AGEING_STEP - 1
    with changes(store) as changed:
        assert store.rerank() == (0, 0.001)
    assert changed == {}


def test_a_job_that_waits_is_raised_and_its_next_change_is_known(store: Store) -> None:
    name = first_job(store)
    store.now_ms = NOW + AGEING_STEP
    with changes(store) as changed:
        assert store.rerank() == (1, AGEING_STEP / 1000)
    assert changed == {
        f"new:{EXECUTOR}": {name: rank(urgency=60, new=True)},
        "rerank": {name: NOW + 2 * AGEING_STEP},
        "counters": {"starvationPromotions": "1"},
    }


@pytest.mark.parametrize(("priority", "raises"), [(50, 5), (39, 6), (98, 1), (99, 0), (100, 0)])
def test_every_raise_counts_once_up_to_the_ceiling(store: Store, priority: int, raises: int) -> None:
    name = first_job(store, new_run([job(priority=priority)]))
    for step in range(1, 10):
        store.now_ms = NOW + step * AGEING_STEP
        store.rerank()
    assert int(store.client.hget(store.keys.counters, "starvationPromotions") or 0) == raises
    assert store.client.zscore(store.keys.new(EXECUTOR), name) == rank(urgency=max(99, priority), new=True)
    assert not store.client.exists(store.keys.rerank)


def test_raises_that_were_slept_through_count_too(store: Store) -> None:
    first_job(store)
    store.now_ms = NOW + 100 * AGEING_STEP
    assert store.rerank() == (1, None)
    assert store.client.hgetall(store.keys.counters) == {"starvationPromotions": "5"}


def test_a_new_bucket_of_the_sla_changes_the_place_and_is_no_promotion(store: Store) -> None:
    name = first_job(store, new_run([job(priority=100, soft=NOW + BUCKET_MS)]))
    store.now_ms = NOW + BUCKET_MS
    assert store.rerank() == (0, 0.001)
    store.now_ms = NOW + BUCKET_MS + 1
    with changes(store) as changed:
        assert store.rerank() == (1, BUCKET_MS / 1000 - 0.001)
    assert changed == {
        f"new:{EXECUTOR}": {name: rank(urgency=500_100, new=True)},
        "rerank": {name: NOW + 2 * BUCKET_MS},
    }


def test_the_burst_of_a_run_ends(store: Store) -> None:
    give_capacity(store)
    run = submit(store, new_run([job("a"), job("b")]))
    dispatch(store, job_id(run, 0))
    name = job_id(run, 1)
    assert store.client.zscore(store.keys.ready(EXECUTOR), name) == rank(burst=True)
    store.now_ms = NOW + BURST
    with changes(store) as changed:
        assert store.rerank() == (1, (AGEING_STEP - BURST) / 1000)
    assert changed == {f"ready:{EXECUTOR}": {name: rank()}, "rerank": {name: NOW + AGEING_STEP}}


def test_one_call_ranks_no_more_than_it_was_asked_to(store: Store) -> None:
    submit(store, new_run([job(name) for name in "abc"]))
    store.now_ms = NOW + AGEING_STEP
    assert store.rerank(2) == (2, 0.0)
    assert store.rerank(2) == (1, AGEING_STEP / 1000)


def test_what_is_no_longer_ready_is_forgotten(store: Store) -> None:
    give_capacity(store)
    name = first_job(store)
    dispatch(store, name)
    store.client.zadd(store.keys.rerank, {name: NOW, "0000000000001-000000": NOW})
    with changes(store) as changed:
        assert store.rerank() == (2, None)
    assert changed == {"rerank": {name: None, "0000000000001-000000": None}}


def test_a_job_that_is_set_aside_stands_in_one_place_afterwards(store: Store) -> None:
    name = first_job(store)
    put_in_force(store, "classic")
    store.now_ms = NOW + AGEING_STEP
    with changes(store) as changed:
        assert store.rerank() == (1, AGEING_STEP / 1000)
    assert changed[f"stale:new:{EXECUTOR}"] == {name: None}
    assert list(changed[f"new:{EXECUTOR}"]) == [name]


def test_a_job_whose_run_has_begun_meanwhile_stands_in_one_place_afterwards(store: Store) -> None:
    give_capacity(store)
    run = submit(store, new_run([job(f"j{number}") for number in range(1_002)]))
    store.advance()
    dispatch(store, job_id(run, 0))
    last = job_id(run, 1_001)
    assert store.client.zscore(store.keys.new(EXECUTOR), last)
    store.now_ms = NOW + AGEING_STEP
    store.client.zadd(store.keys.rerank, {last: NOW})
    assert store.rerank(1)[0] == 1
    assert store.client.zscore(store.keys.new(EXECUTOR), last) is None
    assert store.client.zscore(store.keys.ready(EXECUTOR), last) == rank(urgency=60)

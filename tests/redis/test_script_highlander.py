"""There can be only one run under way, and one that waits."""

from __future__ import annotations

import pytest

from marie_celery.errors import MarieError, RunWaits
from marie_celery.store.codes import Code
from marie_celery.store.keys import job_id
from marie_celery.store.records import NewRun
from marie_celery.store.store import Store
from tests.redis.redis_runs import NOW, WORKER, begin, changes, give_capacity, job, new_run, run_state
from tests.redis.resource_kit import ask, line, on_offer

NAME = "dag:night"


def night(jobs: int = 1) -> NewRun:
    run = new_run([job(f"j{number}") for number in range(jobs)], highlander=NAME)
    return NewRun(**{field: getattr(run, field) for field in run.__slots__} | {"highlander": NAME})


def test_the_second_waits_and_the_third_hears_who_does(store: Store) -> None:
    give_capacity(store)
    first = store.submit(night())
    token = begin(store, job_id(first, 0))
    second = store.submit(night(2))
    with changes(store) as changed, pytest.raises(RunWaits) as told:
        store.submit(night())
    assert told.value.run_id == second
    assert changed == {}
    assert line(store, f"@{NAME}") == [job_id(second, 0), job_id(second, 1)]
    assert ask(store, job_id(second, 0)) == [Code.EXHAUSTED]
    store.finish(job_id(first, 0), token, WORKER, "1")
    assert on_offer(store) == {job_id(second, 0), job_id(second, 1)}
    assert ask(store, job_id(second, 0), job_id(second, 1)) == [Code.OK, Code.OK]
    third = store.submit(night())
    assert store.client.hgetall(store.keys.highlander(NAME)) == {"running": second, "waiting": third}


def test_before_the_first_has_begun_it_is_the_one_that_waits(store: Store) -> None:
    first = store.submit(night())
    with pytest.raises(RunWaits) as told:
        store.submit(night())
    assert told.value.run_id == first


def test_one_that_was_cancelled_makes_room_for_another(store: Store) -> None:
    give_capacity(store)
    first = store.submit(night())
    begin(store, job_id(first, 0))
    second = store.submit(night())
    store.cancel_run(second)
    third = store.submit(night())
    store.cancel_run(first)
    store.supply()
    assert on_offer(store) == {job_id(third, 0)}
    assert store.client.hgetall(store.keys.highlander(NAME)) == {"waiting": third}


def test_a_submission_in_chunks_is_refused_at_its_end_and_cleared_away(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("marie_celery.store.life.CHUNK", 2)
    first = store.submit(night(3))
    with pytest.raises(RunWaits) as told:
        store.submit(night(3))
    assert told.value.run_id == first
    store.now_ms = NOW + 60_000
    store.reap()
    while store.advance():
        pass
    assert store.client.zrange(store.keys.runs, 0, -1) == [first]


def test_a_replay_waits_for_the_one_under_way(store: Store) -> None:
    give_capacity(store)
    first, token = store.submit(night()), 1
    begin(store, job_id(first, 0))
    store.finish(job_id(first, 0), token, WORKER, "1")
    second = store.submit(night())
    other = begin(store, job_id(second, 0))
    with pytest.raises(MarieError, match=f"when run {second} has ended"):
        store.replay(first, ["0 0 0 0"], 0)
    store.finish(job_id(second, 0), other, WORKER, "1")
    store.replay(first, ["0 0 0 0"], 0)
    assert run_state(store, first) == "active"
    assert store.client.hgetall(store.keys.highlander(NAME)) == {"running": first}

"""submit.lua in several calls: a staged run is nowhere to be seen until it is complete."""

from __future__ import annotations

import json
from typing import Any

import pytest

from marie_celery.errors import ServerError
from marie_celery.store import life
from marie_celery.store.codes import Code
from marie_celery.store.keys import job_id
from marie_celery.store.records import NewJob
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    EXECUTOR,
    NOW,
    advance_to_the_end,
    changes,
    dump,
    job,
    job_field,
    new_run,
    states,
    submit,
)


def test_a_run_in_chunks_is_invisible_until_the_last_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life, "CHUNK", 2)
    run = submit(store, new_run([job(f"j{number}") for number in range(5)], soft_in=10))
    assert states(store, run) == {f"j{number}": "ready" for number in range(5)}
    assert job_field(store, job_id(run, 4), "soft") == str(NOW + 10)
    assert store.client.zrange(store.keys.runs, 0, -1) == [run]
    assert not store.client.exists(store.keys.staging)
    assert store.client.hget(store.keys.run(run), "left") == "5"


def test_large_inputs_make_small_chunks(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(life, "CHUNK_TEXT", 20)
    large = '["0123456789"]\n{}'
    jobs = [job("a"), job("b", inputs=large), job("c", inputs=large), job("d"), job("e")]
    assert [[each.fields["name"] for each in chunk] for chunk in life.chunks(jobs)] == [["a"], ["b"], ["c"], ["d", "e"]]
    run = submit(store, new_run(jobs))
    assert store.client.hget(f"{store.keys.run(run)}:inputs", 2) == large
    assert set(states(store, run)) == set("abcde")


def stage(store: Store, key: str = "") -> str:
    """The first call of a submission in chunks whose client then vanishes: three jobs."""
    arguments: list[object] = ["", 0, 30_000, key, "reject_duplicate", "", 5_000, 0, 3]
    arguments += ["dag", "d", "priority", 50, "roots", "0-9", 1, "0", "{}", 1, EXECUTOR, 0]
    jobs = [["[]\n{}", "name", name, "executor", EXECUTOR] for name in "abc"]
    code, run = store.call("submit", *arguments, json.dumps(jobs))
    assert code == 0
    return str(run)


def last_chunk(run: str, key: str = "") -> list[object]:
    return [
        run,
        1,
        30_000,
        key,
        "reject_duplicate",
        "",
        5_000,
        0,
        0,
        0,
        0,
        3,
        json.dumps([["[]\n{}", "name", "d", "executor", EXECUTOR]]),
    ]


def test_a_staged_run_is_in_no_list_and_cannot_be_cancelled(store: Store) -> None:
    with changes(store) as changed:
        run = stage(store)
    assert changed["staging"] == {run: NOW + 30_000}
    assert set(changed) == {
        *{"clock", "executors", "staging", f"run:{run}", f"run:{run}:inputs", f"run:{run}:specs"},
        *(f"job:{job_id(run, number)}" for number in range(3)),
    }
    for kind, id in (("run", run), ("job", job_id(run, 0))):
        assert store.call("cancel", kind, id, "", "") == [Code.UNKNOWN]
        assert store.call("reprioritise", kind, id, "", 9, "", "") == [Code.UNKNOWN]


def test_an_abandoned_submission_is_deleted_without_a_trace(store: Store) -> None:
    submit(store)
    with changes(store) as changed:
        run = stage(store)
        store.now_ms = NOW + 29_999
        assert store.reap().abandoned == 0
        store.now_ms = NOW + 30_000
        assert store.reap().abandoned == 1
        assert store.client.lrange(store.keys.advance, 0, -1) == [f"delete {run} - 0"]
        advance_to_the_end(store)
        assert store.call("submit", *last_chunk(run)) == [5, run]
    assert changed == {"clock": str(NOW * 1000 + 1), "wake": ["1"]}


def test_an_abandoned_submission_is_not_watched_either(store: Store) -> None:
    arguments = ["", 0, 30_000, "", "reject_duplicate", "", 5_000, 0, 2, "roots", "0", "soft_in", 900_000, 0, 0, 0]
    job = ["[]\n{}", "sla", "1", "soft_in", "5", "executor", EXECUTOR]
    _, run = store.call("submit", *arguments, json.dumps([job]))
    assert store.client.zcard(store.keys.sla) == 2
    store.now_ms = NOW + 30_000
    store.reap()
    advance_to_the_end(store)
    assert not store.client.exists(store.keys.sla, store.keys.run(run))


class SlowJobs(list[NewJob]):
    """A client that pauses before its second chunk, until others have cleared its submission away."""

    store: Store

    def __getitem__(self, part: Any) -> Any:
        if isinstance(part, slice) and part.start:
            self.store.now_ms = NOW + 30_000
            self.store.reap()
            self.store.advance()
        return super().__getitem__(part)


def test_a_client_that_was_too_slow_hears_that_nothing_is_stored(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(life, "CHUNK", 1)
    jobs = SlowJobs([job("a"), job("b")])
    jobs.store = store
    with pytest.raises(ServerError, match="nothing of it is stored"):
        submit(store, new_run(jobs))
    assert set(dump(store)) == {"clock", "executors", "wake"}


def test_a_staged_run_whose_key_was_taken_meanwhile_is_deleted(store: Store) -> None:
    run = stage(store, key="k")
    winner = submit(store, new_run([job()], key="k"))
    with changes(store) as changed:
        assert store.call("submit", *last_chunk(run, key="k")) == [4, winner]
        assert advance_to_the_end(store) == 1
    assert changed == {
        "staging": {run: None},
        f"run:{run}": dict.fromkeys(["state", "left", "created_at", "dag", "priority", "roots", "jobs"]),
        f"run:{run}:inputs": {"0": None, "1": None, "2": None},
        f"run:{run}:specs": {"0": None},
        **{
            f"job:{job_id(run, number)}": {"state": None, "name": None, "executor": None}
            for number in range(3)
        },
        "wake": ["1"],
    }


def test_a_run_with_more_roots_than_one_call_may_touch_is_released_by_advance(store: Store) -> None:
    run = submit(store, new_run([job(f"j{number}") for number in range(1_003)]))
    assert store.client.zcard(store.keys.new(EXECUTOR)) == 1_000
    assert store.client.lrange(store.keys.advance, 0, -1) == [f"roots {run} - 1000"]
    assert store.advance() == 0
    assert store.client.zcard(store.keys.new(EXECUTOR)) == 1_003
    assert store.client.hget(store.keys.run(run), "created") == "0"


def test_a_root_cancelled_before_its_release_stays_cancelled(store: Store) -> None:
    run = submit(store, new_run([job(f"j{number}") for number in range(1_002)]))
    late = job_id(run, 1_001)
    assert store.cancel_job(late)
    store.advance()
    assert job_field(store, late, "state") == "cancelled"
    assert store.client.zscore(store.keys.new(EXECUTOR), late) is None
    assert store.client.hmget(store.keys.run(run), "created", "ready", "cancelled") == ["0", "1001", "1"]

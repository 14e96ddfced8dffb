"""replay.lua: jobs of an ended run run again."""

from __future__ import annotations

import pytest

from marie_celery.errors import MarieError, UnknownRun
from marie_celery.model.ranges import unpack
from marie_celery.model.retry import FailureKind
from marie_celery.model.states import WorkState
from marie_celery.store import steering
from marie_celery.store.keys import job_id
from marie_celery.store.replaying import Node, descendants, instructions, unfinished
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
    dump,
    first_job,
    give_capacity,
    job,
    new_run,
    rank,
    run_state,
    states,
    submit,
)


def nodes(store: Store, run: str) -> dict[int, Node]:
    found = {}
    for number in range(int(store.client.hget(store.keys.run(run), "jobs"))):
        state, reason, children = store.client.hmget(
            store.keys.job(job_id(run, number)), "state", "reason", "children"
        )
        found[number] = Node(WorkState(state), reason or "", list(unpack(children or "")))
    return found


def failed_run(store: Store) -> str:
    """a completed, b failed, c behind b was skipped."""
    give_capacity(store)
    run = submit(store, dag({"a": [], "b": ["a"], "c": ["b"]}))
    complete(store, job_id(run, 0))
    b = job_id(run, 1)
    store.fail(b, begin(store, b), WORKER, FailureKind.FAILURE, {"type": "E"}, give_up=True)
    assert states(store, run) == {"a": "completed", "b": "failed", "c": "skipped"}
    return run


def test_what_did_not_end_well_runs_again(store: Store) -> None:
    run = failed_run(store)
    found = nodes(store, run)
    store.now_ms = late = NOW + 60_000
    with changes(store) as changed:
        store.replay(run, instructions(found, unfinished(found)), 0, by="ann")
    b, c = job_id(run, 1), job_id(run, 2)
    reset = {"at": str(late), "skipped_parents": "0", "epoch": "1"}
    assert changed == {
        f"job:{b}": {**reset, "state": "ready", "reason": "", "failures": None, "failed_parents": "0"},
        f"job:{c}": {**reset, "state": "created", "reason": "replay", "deps": "1", "failed_parents": "0"},
        f"ready:{EXECUTOR}": {b: rank(level=1, runtime=128)},
        "rerank": {b: late + 300_000},
        "active": {run: NOW},
        "ended": {run: None},
        "dead": {b: None},
        f"run:{run}": {
            "state": "active",
            "ended_at": None,
            "left": "2",
            "replays": "1",
            "failed": "0",
            "skipped": "0",
            "created": "1",
            "ready": "1",
        },
        f"run:{run}:done": None,
        f"run:{run}:errors": {"1": None},
        "events": [
            ("run", run, "failed", "active", "replay"),
            ("job", c, "skipped", "created", "replay"),
            ("job", b, "failed", "created", "replay"),
            ("job", b, "created", "ready", ""),
        ],
        "wake": ["1"],
    }
    for name in (b, c):
        give_capacity(store)
        complete(store, name)
    assert run_state(store, run) == "completed"
    assert store.client.lrange(store.keys.done(run), 0, -1) == ["completed"]


def test_an_old_attempt_cannot_report_into_the_replay(store: Store) -> None:
    run = failed_run(store)
    found = nodes(store, run)
    store.replay(run, instructions(found, unfinished(found)), 0)
    b = job_id(run, 1)
    assert begin(store, b) == 2
    assert not store.finish(b, 1, WORKER, "1")


def test_a_job_alone_or_with_all_that_depends_on_it_can_run_again(store: Store) -> None:
    give_capacity(store)
    run = submit(store, dag({"a": [], "b": ["a"], "c": ["b"]}))
    for number in range(3):
        complete(store, job_id(run, number))
    store.replay(run, instructions(nodes(store, run), {1}), 0)
    assert states(store, run) == {"a": "completed", "b": "ready", "c": "completed"}
    complete(store, job_id(run, 1))
    found = nodes(store, run)
    store.replay(run, instructions(found, descendants(found, [1])), 1)
    assert states(store, run) == {"a": "completed", "b": "ready", "c": "created"}
    assert store.client.zscore(store.keys.rerank, job_id(run, 1)) == NOW + BURST


def test_a_run_that_has_not_ended_is_refused(store: Store) -> None:
    name = first_job(store)
    with changes(store) as changed, pytest.raises(MarieError, match="is created: it can be replayed when it has ended"):
        store.replay(name[:13], ["0 0 0 0"], 0)
    assert changed == {}


def test_a_run_that_nobody_knows_is_refused(store: Store) -> None:
    with pytest.raises(UnknownRun):
        store.replay("0000000000001", ["0 0 0 0"], 0)


def test_of_two_replays_at_the_same_moment_one_is_refused(store: Store) -> None:
    run = failed_run(store)
    found = nodes(store, run)
    store.replay(run, instructions(found, {1}), 0)
    complete(store, job_id(run, 1))
    before = dump(store)
    with pytest.raises(MarieError, match="somebody else"):
        store.replay(run, instructions(found, {1}), 0)
    assert dump(store) == before


def test_instructions_in_chunks_are_invisible_until_the_last_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steering, "REPLAY_CHUNK", 2)
    run = failed_run(store)
    found = nodes(store, run)
    orders = instructions(found, descendants(found, [0]))
    assert store.call("replay", run, 0, len(orders), "", 0, *orders[:2]) == [0]
    assert run_state(store, run) == "failed"
    assert 0 < store.client.pttl(store.keys.replay(run)) <= 60_000
    store.client.delete(store.keys.replay(run))
    store.replay(run, orders, 0)
    assert states(store, run) == {"a": "ready", "b": "created", "c": "created"}
    assert not store.client.exists(store.keys.replay(run))


def test_a_replay_of_which_a_chunk_is_missing_is_refused(store: Store) -> None:
    run = failed_run(store)
    assert store.call("replay", run, 1, 2, "", 0, "1 0 0 0") == [5]
    assert run_state(store, run) == "failed"
    assert not store.client.exists(store.keys.replay(run))


def test_more_jobs_than_one_call_may_touch_run_again(store: Store) -> None:
    run = submit(store, new_run([job(f"j{number}") for number in range(2_100)]))
    store.cancel_run(run)
    advance_to_the_end(store)
    found = nodes(store, run)
    store.replay(run, instructions(found, unfinished(found)), 0)
    assert store.client.lrange(store.keys.advance, 0, -1) == [f"replay {run} - 0@1"]
    advance_to_the_end(store)
    assert store.client.hmget(store.keys.run(run), "ready", "cancelled", "left") == ["2100", "0", "2100"]
    store.cancel_run(run)
    advance_to_the_end(store)
    assert run_state(store, run) == "cancelled"


def test_a_replay_that_is_cancelled_on_its_way_ends(store: Store) -> None:
    run = submit(store, new_run([job(f"j{number}") for number in range(1_500)]))
    store.cancel_run(run)
    advance_to_the_end(store)
    found = nodes(store, run)
    store.replay(run, instructions(found, unfinished(found)), 0)
    assert store.cancel_run(run, "again")
    advance_to_the_end(store)
    assert run_state(store, run) == "cancelled"
    assert store.client.hmget(store.keys.run(run), "cancelled", "left") == ["1500", "0"]


@pytest.mark.parametrize("left", ["fields {} priority=9 0", "missed {} expire 0", "delete {} - 0", "cancel {} - 0"])
def test_work_left_from_before_a_replay_means_nothing_any_more(store: Store, left: str) -> None:
    run = failed_run(store)
    found = nodes(store, run)
    store.replay(run, instructions(found, unfinished(found)), 0)
    store.client.rpush(store.keys.advance, left.format(run))
    with changes(store) as changed:
        assert store.advance() == 0
    assert changed == {"advance": None}

"""hold.lua: what an operator holds back waits, whatever becomes ready later, until it is let go."""

from __future__ import annotations

import pytest

from marie_celery.errors import UnknownExecutor, UnknownJob, UnknownRun
from marie_celery.store.codes import Code
from marie_celery.store.keys import job_id
from marie_celery.store.steering import Held
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    AGEING_STEP,
    AT,
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
    job_field,
    new_run,
    put_in_force,
    rank,
    run_state,
    running,
    states,
    submit,
)


def test_a_ready_job_is_held_and_let_go(store: Store) -> None:
    name = first_job(store)
    run = name[:13]
    with changes(store) as changed:
        assert store.hold("job", name)
    assert changed == {
        f"job:{name}": {"hold": "1", "state": "held", "reason": "held"},
        f"run:{run}": {"ready": "0", "held": "1"},
        f"new:{EXECUTOR}": {name: None},
        "rerank": {name: None},
        "held": {name: NOW},
        "events": [("job", name, "ready", "held", "held")],
        "wake": ["1"],
    }
    store.now_ms = NOW + 9
    with changes(store) as changed:
        assert store.let_go("job", name)
    assert changed == {
        f"job:{name}": {"hold": None, "state": "ready", "reason": "", "at": str(NOW + 9)},
        f"run:{run}": {"ready": "1", "held": "0"},
        f"new:{EXECUTOR}": {name: rank(new=True)},
        "rerank": {name: NOW + 9 + AGEING_STEP},
        "held": {name: None},
        "events": [("job", name, "held", "ready", "")],
        "wake": ["1"],
    }


def test_a_job_that_waits_for_its_parents_is_held_when_it_would_be_ready(store: Store) -> None:
    give_capacity(store)
    run = submit(store, dag({"a": [], "b": ["a"]}))
    b = job_id(run, 1)
    with changes(store) as changed:
        assert store.hold("job", b)
    assert changed == {f"job:{b}": {"hold": "1"}, "wake": ["1"]}
    complete(store, job_id(run, 0))
    assert states(store, run)["b"] == "held"
    assert run_state(store, run) == "active"
    store.let_go("job", b)
    complete(store, b)
    assert run_state(store, run) == "completed"


def test_a_paused_run_starts_nothing_more_and_what_runs_ends(store: Store) -> None:
    name, token, _ = running(store, dag({"a": [], "b": ["a"], "c": []}))
    run, c = name[:13], job_id(name[:13], 2)
    with changes(store) as changed:
        assert store.hold("run", run)
    assert changed == {
        f"run:{run}": {"state": "paused", "paused": "1", "ready": "0", "held": "1"},
        f"job:{c}": {"state": "held", "reason": "run_paused"},
        f"ready:{EXECUTOR}": {c: None},
        "rerank": {c: None},
        "held": {c: NOW},
        "events": [("run", run, "active", "paused", "paused"), ("job", c, "ready", "held", "run_paused")],
        "wake": ["1"],
    }
    assert store.finish(name, token, WORKER, "1")
    assert states(store, run) == {"a": "completed", "b": "held", "c": "held"}
    with changes(store) as changed:
        assert store.let_go("run", run)
    assert changed[f"run:{run}"] == {"state": "active", "paused": None, "ready": "2", "held": "0"}
    assert changed["events"][0] == ("run", run, "paused", "active", "resumed")
    assert sorted(changed[f"ready:{EXECUTOR}"]) == [job_id(run, 1), c]
    assert changed["held"] == {job_id(run, 1): None, c: None}


def test_a_run_paused_before_it_began_is_new_again(store: Store) -> None:
    run = submit(store)
    store.hold("run", run)
    assert store.dispatch((), [(job_id(run, 0), 0)])[0].code == Code.NOT_READY
    store.let_go("run", run)
    assert run_state(store, run) == "created"
    assert store.client.zrange(store.keys.new(EXECUTOR), 0, -1) == [job_id(run, 0)]


def test_to_pause_what_is_paused_changes_nothing(store: Store) -> None:
    run = submit(store)
    store.hold("run", run)
    with changes(store) as changed:
        assert store.hold("run", run)
    assert changed == {"wake": ["1"]}


def test_a_job_held_for_two_reasons_waits_for_both(store: Store) -> None:
    name = first_job(store)
    store.hold("job", name)
    store.hold("run", name[:13])
    store.let_go("run", name[:13])
    assert job_field(store, name, "state") == "held"
    store.let_go("job", name)
    assert job_field(store, name, "state") == "ready"


def test_a_task_is_held_in_all_runs_and_in_those_to_come(store: Store) -> None:
    first = submit(store, new_run([job("a"), job("b", task="other")]))
    with changes(store) as changed:
        assert store.hold("task", "t")
    assert changed["held-tasks"] == ["t"]
    assert changed["events"] == [("task", "t", "", "paused", "")]
    advance_to_the_end(store)
    second = submit(store)
    assert states(store, first) == {"a": "held", "b": "ready"}
    assert states(store, second) == {"a": "held"}
    assert job_field(store, job_id(second, 0), "reason") == "task_held"
    store.let_go("task", "t")
    advance_to_the_end(store)
    assert states(store, first) == {"a": "ready", "b": "ready"}
    assert states(store, second) == {"a": "ready"}
    assert not store.client.exists(store.keys.held, store.keys.held_tasks)


def test_more_jobs_of_a_task_than_one_call_may_touch_are_held_and_let_go(store: Store) -> None:
    run = submit(store, new_run([job(f"j{number}") for number in range(2_100)]))
    advance_to_the_end(store)
    store.hold("task", "t")
    advance_to_the_end(store)
    assert store.client.hmget(store.keys.run(run), "ready", "held") == ["0", "2100"]
    store.let_go("task", "t")
    advance_to_the_end(store)
    assert store.client.hmget(store.keys.run(run), "ready", "held") == ["2100", "0"]
    assert store.client.zcard(store.keys.new(EXECUTOR)) == 2_100


def test_a_held_executor_has_no_room_and_keeps_what_waits(store: Store) -> None:
    give_capacity(store)
    name = first_job(store)
    with changes(store) as changed:
        assert store.hold("executor", EXECUTOR)
    assert changed == {
        f"executor:{EXECUTOR}": {"paused": "1"},
        "events": [("executor", EXECUTOR, "", "paused", "")],
        "wake": ["1"],
    }
    assert store.peek(9, 9).rooms[0].free == 0
    assert store.dispatch((), [(name, 0)])[0].code == Code.FULL
    store.let_go("executor", EXECUTOR)
    dispatch(store, name)


def test_what_is_held_can_be_cancelled(store: Store) -> None:
    name = first_job(store)
    store.hold("job", name)
    with changes(store) as changed:
        assert store.cancel_job(name)
    assert changed["held"] == {name: None}
    assert run_state(store, name[:13]) == "cancelled"


def test_a_job_that_is_set_aside_is_held_in_one_place(store: Store) -> None:
    name = first_job(store)
    put_in_force(store, "fifo")
    store.hold("job", name)
    advance_to_the_end(store)
    assert job_field(store, name, "state") == "held"
    assert not store.client.exists(*(key(EXECUTOR) for key in (store.keys.new, store.keys.stale_new)))


def test_what_has_ended_cannot_be_held(store: Store) -> None:
    give_capacity(store)
    name = first_job(store)
    complete(store, name)
    before = store.client.hgetall(store.keys.job(name))
    assert not store.hold("job", name)
    assert not store.hold("run", name[:13])
    assert store.client.hgetall(store.keys.job(name)) == before


@pytest.mark.parametrize(
    ("kind", "id", "error"),
    [("job", "x", UnknownJob), ("run", "x", UnknownRun), ("executor", "x", UnknownExecutor)],
)
def test_what_nobody_knows_cannot_be_held(store: Store, kind: Held, id: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        store.hold(kind, id)


def test_a_running_job_is_held_before_its_next_attempt(store: Store) -> None:
    give_capacity(store)
    name = first_job(store)
    token = begin(store, name)
    assert store.hold("job", name)
    assert job_field(store, name, "state") == "active"
    store.leave(WORKER)
    assert (job_field(store, name, "state"), job_field(store, name, "token")) == ("held", str(token))
    assert job_field(store, name, "at") == AT

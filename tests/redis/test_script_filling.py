"""Free slots are filled by the step that has something for them, once a scheduler has rendered such a message."""

from __future__ import annotations

import json

import pytest

from marie_celery.config import Settings
from marie_celery.store.keys import attempt_id, job_id
from marie_celery.store.records import Message
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    EXECUTOR,
    NOW,
    WORKER,
    advance_to_the_end,
    changes,
    dag,
    dispatch,
    give_capacity,
    job,
    job_field,
    new_run,
    put_in_force,
    submit,
)
from tests.redis.resource_kit import declare, needing

QUEUE = "queue"
MESSAGE = Message(QUEUE, '{"id":"@attempt@","root":"@run@","args":"@args@"}')


def rendered(store: Store, slots: int = 1, **fields: object) -> None:
    """A scheduler has sent a job of this kind before, and it is done."""
    give_capacity(store, slots)
    name = job_id(submit(store, new_run([job("before", **fields)])), 0)
    token = dispatch(store, name, [MESSAGE])
    store.start(name, token, WORKER, attempt_id(name, token))
    store.finish(name, token, WORKER, "1")
    store.client.delete(QUEUE, store.keys.wake)


def sent(store: Store) -> list[str]:
    """The attempts in the queue, in the order in which a worker gets them."""
    return [json.loads(text)["id"] for text in reversed(store.client.lrange(QUEUE, 0, -1))]


def test_a_submission_sends_its_first_jobs_in_the_same_step(store: Store) -> None:
    rendered(store)
    with changes(store) as changed:
        run = submit(store, new_run([job("a", inputs='["x"]\n{}')]))
    a = job_id(run, 0)
    assert [json.loads(text) for text in changed[QUEUE]] == [{"id": f"{a}.1", "root": run, "args": '["x"]'}]
    assert changed[f"slots:{EXECUTOR}"] == {f"{a}.1": NOW + 5_000}
    assert (job_field(store, a, "state"), job_field(store, a, "token")) == ("dispatched", "1")
    assert changed["events"] == [
        ("run", run, "", "created", ""),
        ("job", a, "created", "ready", ""),
        ("job", a, "ready", "dispatched", ""),
        ("run", run, "created", "active", ""),
    ]
    assert not {f"new:{EXECUTOR}", f"ready:{EXECUTOR}", "wake"} & changed.keys(), "no scheduler is needed"


def test_no_more_is_sent_than_there_are_slots_and_a_scheduler_hears_of_the_rest(store: Store) -> None:
    rendered(store, 2)
    with changes(store) as changed:
        run = submit(store, new_run([job(name) for name in "abcd"]))
    assert sent(store) == [f"{job_id(run, number)}.1" for number in (0, 1)]
    assert changed[f"ready:{EXECUTOR}"].keys() == {job_id(run, 2), job_id(run, 3)}
    assert changed["wake"] == ["1"]


def test_the_end_of_a_job_sends_what_comes_next(store: Store) -> None:
    rendered(store)
    run = submit(store, dag({"a": [], "b": ["a"]}))
    a, b = job_id(run, 0), job_id(run, 1)
    store.start(a, 1, WORKER, f"{a}.1")
    store.client.delete(QUEUE)
    with changes(store) as changed:
        store.finish(a, 1, WORKER, "1")
    assert sent(store) == [f"{b}.1"]
    assert changed[f"slots:{EXECUTOR}"] == {f"{a}.1": None, f"{b}.1": NOW + 5_000}
    assert "wake" not in changed


def test_other_executors_are_filled_too(store: Store) -> None:
    rendered(store)
    give_capacity(store, 1, worker="w2", executor="far")
    far = job_id(submit(store, new_run([job("f", executor="far")])), 0)
    dispatch(store, far, [MESSAGE])
    store.start(far, 1, "w2", f"{far}.1")
    store.finish(far, 1, "w2", "1")
    run = submit(store, new_run([job("a", children="1"), job("b", executor="far", deps=1, parents=1)], roots=[0]))
    a, b = job_id(run, 0), job_id(run, 1)
    store.start(a, 1, WORKER, f"{a}.1")
    store.client.delete(QUEUE)
    store.finish(a, 1, WORKER, "1")
    assert sent(store) == [f"{b}.1"]


def test_the_best_job_goes_first(store: Store) -> None:
    rendered(store)
    first = job_id(submit(store, new_run([job("first")])), 0)
    low = job_id(submit(store, new_run([job("low", priority=20)])), 0)
    high = job_id(submit(store, new_run([job("high", priority=80)])), 0)
    store.start(first, 1, WORKER, f"{first}.1")
    store.client.delete(QUEUE)
    store.finish(first, 1, WORKER, "1")
    assert sent(store) == [f"{high}.1"]
    assert job_field(store, low, "state") == "ready"


def test_jobs_with_other_time_limits_are_of_another_kind(store: Store) -> None:
    rendered(store)
    with changes(store) as changed:
        submit(store, new_run([job("a", time_limit=5)]))
    assert sent(store) == []
    assert changed["wake"] == ["1"]


def test_messages_that_were_forgotten_are_for_a_scheduler_to_send(store: Store) -> None:
    rendered(store)
    store.forget_messages()
    with changes(store) as changed:
        submit(store)
    assert sent(store) == []
    assert changed["wake"] == ["1"]


def test_with_a_planner_that_takes_more_than_ranks_a_scheduler_chooses(store: Store) -> None:
    rendered(store)
    put_in_force(store, "tours")
    advance_to_the_end(store)
    store.client.delete(store.keys.wake)
    with changes(store) as changed:
        submit(store)
    assert sent(store) == []
    assert changed["wake"] == ["1"]


def test_nothing_is_sent_for_an_executor_that_is_paused(store: Store) -> None:
    rendered(store)
    store.hold("executor", EXECUTOR)
    submit(store)
    assert sent(store) == []


@pytest.mark.parametrize(("limit", "many"), [(5, 2), (4, 0), (1, 0)])
def test_where_a_limit_over_all_executors_holds_some_back_a_scheduler_chooses(
    store: Store, limit: int, many: int
) -> None:
    limited = Store(store.client, Settings(max_concurrency=limit), now_ms=NOW)
    rendered(limited, 3)
    give_capacity(limited, 2, worker="w2", executor="far")
    with changes(limited) as changed:
        submit(limited, new_run([job("a"), job("b")]))
    assert len(sent(limited)) == many
    assert ("wake" in changed) == (many == 0)


@pytest.mark.parametrize(("most", "many"), [(2, 1), (1, 0)])
def test_where_a_limit_of_active_runs_holds_some_back_a_scheduler_chooses(store: Store, most: int, many: int) -> None:
    """The one that waits elsewhere may be better."""
    rendered(store)
    put_in_force(store, "global", max_active_dags=most)
    submit(store, new_run([job("elsewhere", executor="far", priority=90)]))
    store.client.delete(store.keys.wake)
    with changes(store) as changed:
        submit(store, new_run([job("here", priority=10)]))
    assert len(sent(store)) == many
    assert ("wake" in changed) == (many == 0)


def test_the_end_of_a_run_lets_another_begin_elsewhere(store: Store) -> None:
    """With a limit of active runs, jobs of a new run may wait at an executor that has nothing to do with the end."""
    put_in_force(store, "global", max_active_dags=1)
    rendered(store)
    give_capacity(store, 1, worker="w2", executor="far")
    run = submit(store)
    submit(store, new_run([job("elsewhere", executor="far")]))
    store.start(job_id(run, 0), 1, WORKER, "m")
    store.client.delete(store.keys.wake)
    with changes(store) as changed:
        store.finish(job_id(run, 0), 1, WORKER, "1")
    assert changed["wake"] == ["1"]


@pytest.mark.parametrize("units", [1, 3])
def test_resources_are_booked_with_it_or_it_waits_for_them(store: Store, units: int) -> None:
    declare(store, "gpu", quantity=2)
    rendered(store)
    run = submit(store, new_run([needing(gpu=units)]))
    name = job_id(run, 0)
    if units <= 2:
        assert sent(store) == [f"{name}.1"]
        assert store.client.hget(store.keys.bookings, f"{name}.1")
    else:
        assert sent(store) == []
        assert job_field(store, name, "short") == '["gpu"]'


def test_an_sla_of_a_run_is_told_to_a_scheduler(store: Store) -> None:
    """Somebody has to look when its time comes, also if all its jobs are on their way."""
    rendered(store)
    with changes(store) as changed:
        submit(store, new_run([job("a")], soft_in=900_000))
    assert len(sent(store)) == 1
    assert changed["wake"] == ["1"]


def test_a_message_that_is_known_is_not_written_again(store: Store) -> None:
    rendered(store)
    known = store.client.hgetall(store.keys.messages)
    name = job_id(submit(store, new_run([job("a", executor="far")])), 0)
    give_capacity(store, 1, worker="w2", executor="far")
    dispatch(store, name, [Message("other", MESSAGE.template)])
    assert store.client.hgetall(store.keys.messages) == {
        **known,
        "far t - -": f"other\n{MESSAGE.template}",
    }

"""peek.lua and capacity.lua: what could run now, and where there is room."""

from __future__ import annotations

from marie_celery.model.retry import FailureKind
from marie_celery.store.keys import attempt_id, job_id
from marie_celery.store.records import Candidate, ExecutorView, Outlook, Room
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    AGEING_STEP,
    BURST,
    EXECUTOR,
    NOW,
    WORKER,
    begin,
    changes,
    complete,
    dispatch,
    first_job,
    give_capacity,
    job,
    new_run,
    put_in_force,
    submit,
)

DUTIES = ("promoter", "reranker", "watcher", "advancer", "alerter", "cron", "supplier", "expander")
NOTHING_DUE = dict.fromkeys(DUTIES, -1)


def candidates(store: Store, look_ahead: int = 10, most: int = 10) -> list[str]:
    (room,) = store.peek(look_ahead, most).rooms
    return [candidate.job_id for candidate in room.candidates]


def test_peek_at_nothing_shows_nothing(store: Store) -> None:
    assert store.peek(1, 10) == Outlook(NOW, "global", NOTHING_DUE, [])


def test_peek_shows_the_best_jobs_where_there_is_room_and_changes_nothing(store: Store) -> None:
    give_capacity(store, slots=1)
    soft = {"soft": NOW + 9, "hard": NOW + 10, "estimate": 5, "path": 7, "time_limit": 2.5, "soft_time_limit": 1}
    run = submit(store, new_run([job("a"), job("b", level=3, **soft), job("c")]))
    store.now_ms = NOW + 1
    with changes(store) as changed:
        outlook = store.peek(1, 10)
    assert changed == {}
    a, b = job_id(run, 0), job_id(run, 1)
    times = {"submitted_ms": NOW, "activated_ms": None, "ready_ms": NOW}
    best = Candidate(
        b,
        EXECUTOR,
        "t",
        level=3,
        priority=50,
        soft_ms=NOW + 9,
        hard_ms=NOW + 10,
        estimate_ms=5,
        path_ms=7,
        time_limit=2.5,
        soft_time_limit=1.0,
        **times,
    )
    second = Candidate(
        a,
        EXECUTOR,
        "t",
        level=0,
        priority=50,
        soft_ms=None,
        hard_ms=None,
        estimate_ms=None,
        path_ms=None,
        time_limit=None,
        soft_time_limit=None,
        **times,
    )
    due = {**NOTHING_DUE, "reranker": 9}
    assert outlook == Outlook(NOW + 1, "global", due, [Room(EXECUTOR, 1, 3, 0, [best, second])])


def test_no_more_are_shown_than_were_asked_for(store: Store) -> None:
    give_capacity(store, slots=5)
    run = submit(store, new_run([job(name) for name in "abc"]))
    ids = [job_id(run, number) for number in range(3)]
    assert candidates(store, look_ahead=0) == ids
    assert candidates(store, most=1) == ids[:1]
    store.client.hset(store.keys.executor(EXECUTOR), "target", 1)
    assert candidates(store, look_ahead=1) == ids[:2]


def test_jobs_of_new_runs_are_shown_beside_those_of_runs_that_have_begun(store: Store) -> None:
    give_capacity(store, slots=2)
    begun = submit(store, new_run([job(f"j{number}") for number in range(4)]))
    dispatch(store, job_id(begun, 0))
    fresh = submit(store, new_run([job("a"), job("b")]))
    assert candidates(store, look_ahead=0, most=1) == [job_id(begun, 1), job_id(fresh, 0)]
    (room,) = store.peek(0, 1).rooms
    assert (room.free, room.waiting) == (1, 5)
    assert [each.activated_ms for each in room.candidates] == [NOW, None]


def test_peek_shows_no_jobs_where_there_is_no_room(store: Store) -> None:
    give_capacity(store, slots=1)
    begin(store, first_job(store))
    first_job(store)
    assert store.peek(10, 10).rooms == [Room(EXECUTOR, 0, 1, 0, [])]
    store.client.hset(store.keys.executor(EXECUTOR), "target", 0)
    assert store.peek(10, 10).rooms == [Room(EXECUTOR, -1, 1, 0, [])]


def test_while_no_run_may_begin_only_those_that_have_are_shown(store: Store) -> None:
    give_capacity(store)
    put_in_force(store, "global", max_active_dags=1)
    begun = submit(store, new_run([job("a"), job("b")]))
    fresh = first_job(store)
    assert candidates(store) == [job_id(begun, 0), job_id(begun, 1), fresh]
    dispatch(store, job_id(begun, 0))
    assert candidates(store) == [job_id(begun, 1)]


def test_the_credit_and_the_planner_in_force_are_told(store: Store) -> None:
    give_capacity(store)
    put_in_force(store, "classic")
    store.client.hset(store.keys.executor(EXECUTOR), "credit", -400)
    outlook = store.peek(1, 1)
    assert (outlook.planner, outlook.rooms) == ("classic", [Room(EXECUTOR, 10, 0, -400, [])])


def test_a_job_without_an_estimate_has_the_one_that_was_learned(store: Store) -> None:
    give_capacity(store)
    name = first_job(store)
    token = begin(store, name)
    store.now_ms = NOW + 1_500
    store.finish(name, token, WORKER, "1")
    submit(store, new_run([job(), job(estimate=7)]))
    (room,) = store.peek(1, 10).rooms
    assert [each.estimate_ms for each in room.candidates] == [7, 1_500]


def test_peek_tells_when_each_duty_is_due(store: Store) -> None:
    give_capacity(store)
    name = first_job(store)
    store.fail(name, begin(store, name), WORKER, FailureKind.FAILURE, {}, delay_seconds=2)
    submit(store, new_run([job()], soft=NOW + 400_000))
    store.now_ms = NOW + 500
    assert store.peek(1, 1).due_ms == {
        "promoter": 1_500,
        "reranker": AGEING_STEP - 500,
        "watcher": 399_500,
        "advancer": -1,
        "alerter": -1,
        "cron": -1,
        "supplier": -1,
        "expander": -1,
    }
    store.now_ms = NOW + 500_000
    store.watch()
    assert store.peek(1, 1).due_ms == {
        "promoter": 0,
        "reranker": 0,
        "watcher": -1,
        "advancer": 0,
        "alerter": 0,
        "cron": -1,
        "supplier": -1,
        "expander": -1,
    }


def test_the_end_of_a_burst_is_a_change_of_rank(store: Store) -> None:
    give_capacity(store)
    run = submit(store, new_run([job("a"), job("b")]))
    dispatch(store, job_id(run, 0))
    assert store.peek(1, 1).due_ms["reranker"] == BURST


def test_capacity_is_one_look_at_everything(store: Store) -> None:
    give_capacity(store, slots=2)
    give_capacity(store, slots=1, worker="w2", executor="gpu")
    store.client.hset(store.keys.executor("gpu"), "target", 4)
    active, waiting = first_job(store), job_id(submit(store, new_run([job("a"), job("b")])), 0)
    first_job(store)
    tokens = begin(store, active), dispatch(store, waiting)
    with changes(store) as changed:
        views = store.capacity()
    assert changed == {}
    holders = {attempt_id(active, tokens[0]): WORKER, attempt_id(waiting, tokens[1]): ""}
    assert views == [
        ExecutorView("gpu", 4, 4, 0, {}, {"w2": 1}),
        ExecutorView(EXECUTOR, 2, None, 2, holders, {WORKER: 2}),
    ]


def test_deeper_jobs_come_first_then_urgent_then_important_then_older_ones(store: Store) -> None:
    give_capacity(store)
    jobs = [
        job("old"),
        job("new"),
        job("important", priority=90),
        job("due", soft=NOW + 1),
        job("deep", level=1),
    ]
    run = submit(store, new_run(jobs))
    assert candidates(store) == [job_id(run, n) for n in (4, 3, 2, 0, 1)]


def test_a_run_that_ended_makes_room_for_another_to_begin(store: Store) -> None:
    give_capacity(store)
    put_in_force(store, "global", max_active_dags=1)
    begun, fresh = first_job(store), first_job(store)
    begin(store, begun)
    assert candidates(store) == []
    store.finish(begun, 1, WORKER, "1")
    assert candidates(store) == [fresh]
    complete(store, fresh)

"""peek.lua and capacity.lua, and the order in which ready jobs stand."""

from __future__ import annotations

import random

from marie_celery.planning import FlatJob, GlobalPriorityExecutionPlanner
from marie_celery.store.keys import attempt_id, job_id
from marie_celery.store.records import Candidate, ExecutorView, Room
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    EXECUTOR,
    NOW,
    WORKER,
    begin,
    changes,
    dispatch,
    first_job,
    give_capacity,
    job,
    new_run,
    submit,
)

HOUR = 3_600_000


def test_peek_shows_the_best_jobs_where_there_is_room_and_changes_nothing(store: Store) -> None:
    give_capacity(store, slots=1)
    soft = {"soft": NOW + 9, "hard": NOW + 10, "estimate": 5, "time_limit": 2.5, "soft_time_limit": 1}
    run = submit(store, new_run([job("a"), job("b", level=3, **soft), job("c")]))
    with changes(store) as changed:
        (room,) = store.peek(1, 10)
    assert changed == {}
    a, b = job_id(run, 0), job_id(run, 1)
    assert room == Room(
        EXECUTOR,
        1,
        3,
        [
            Candidate(b, EXECUTOR, "t", 3, 50, NOW + 9, NOW + 10, NOW, 5, 2.5, 1.0),
            Candidate(a, EXECUTOR, "t", 0, 50, None, None, NOW, None, None, None),
        ],
    )
    assert len(store.peek(5, 1)[0].candidates) == 1


def test_peek_shows_no_jobs_where_there_is_no_room(store: Store) -> None:
    give_capacity(store, slots=1)
    begin(store, first_job(store))
    first_job(store)
    assert store.peek(10, 10) == [Room(EXECUTOR, 0, 1, [])]


def test_capacity_is_one_look_at_everything(store: Store) -> None:
    give_capacity(store, slots=2)
    give_capacity(store, slots=1, worker="w2", executor="gpu")
    store.client.hset(store.keys.executor("gpu"), "target", 4)
    active, waiting = first_job(store), first_job(store)
    first_job(store)
    tokens = begin(store, active), dispatch(store, waiting)
    with changes(store) as changed:
        views = store.capacity()
    assert changed == {}
    holders = {attempt_id(active, tokens[0]): WORKER, attempt_id(waiting, tokens[1]): ""}
    assert views == [
        ExecutorView("gpu", 4, 4, 0, {}, {"w2": 1}),
        ExecutorView(EXECUTOR, 2, None, 1, holders, {WORKER: 2}),
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
    (room,) = store.peek(10, 10)
    assert [candidate.job_id for candidate in room.candidates] == [job_id(run, n) for n in (4, 3, 2, 0, 1)]


def test_ranks_are_those_of_the_planner(store: Store) -> None:
    dice = random.Random(1)
    jobs, flat = [], []
    for number in range(200):
        soft = dice.choice([None, NOW + dice.randint(-200 * HOUR, 200 * HOUR)])
        hard = dice.choice([None, (soft or NOW) + dice.randint(0, 300 * HOUR)])
        level, priority = dice.choice([0, 1, 7, 131_071, 200_000]), dice.randint(0, 999)
        estimate = dice.choice([None, 0, 1, dice.randint(2, 10**9)])
        known = {"soft": soft, "hard": hard, "estimate": estimate}
        given = {field: value for field, value in known.items() if value is not None}
        jobs.append(job(f"j{number}", level=level, priority=priority, **given))
        flat.append(
            FlatJob(
                job_id=str(number),
                run_id="r",
                level=level,
                priority=priority,
                soft_sla_ms=soft,
                hard_sla_ms=hard,
                ready_ms=NOW,
                # Half a millisecond more, so that the way through seconds does not lose one.
                estimated_runtime=None if estimate is None else (estimate + 0.5) / 1000,
                run_activated_ms=NOW - HOUR,
            )
        )
    run = submit(store, new_run(jobs))
    planner = GlobalPriorityExecutionPlanner()
    stored = dict(store.client.zrange(store.keys.ready(EXECUTOR), 0, -1, withscores=True))
    assert stored == {job_id(run, n): planner.rank(each, NOW).score for n, each in enumerate(flat)}

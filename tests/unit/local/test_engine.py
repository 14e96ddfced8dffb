"""The pure core: events in, effects out."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marie_celery.authoring.compile import Compiler, Surroundings
from marie_celery.authoring.dag import dag
from marie_celery.authoring.task import task
from marie_celery.config import Settings
from marie_celery.errors import IllegalTransition
from marie_celery.local.engine import Engine
from marie_celery.local.events import (
    Begun,
    Cancelled,
    Completed,
    Due,
    Effect,
    Expand,
    Expanded,
    Failed,
    HardSlaMissed,
    MakeReady,
    Refused,
    Skipped,
    Waited,
    WaitFor,
)
from marie_celery.model.joins import JoinRule
from marie_celery.model.retry import FailureKind
from marie_celery.model.states import RunState, WorkState
from marie_celery.store.expanding import MapItem

NOW = 1_000_000


@task(executor="main", name="engine.step", retry_limit=1, retry_delay=3)
def step(*values: Any) -> Any: ...


def engine(wire: Callable[[], Any], **options: Any) -> Engine:
    made = dag(name="engine.tested", **options)(wire)
    builder, output = made.build()
    around = Surroundings(Settings(), ["main"], now_ms=NOW)
    return Engine(Compiler(builder, made.run_options, around).compile(output), NOW)


def failed(number: int, token: int = 1, **how: Any) -> Failed:
    return Failed(number, token, FailureKind.FAILURE, {"type": "Error", "message": "no"}, **how)


def states(given: Engine) -> list[str]:
    return [job.state.value for job in given.jobs]


def test_roots_become_ready_and_their_children_when_they_have_completed() -> None:
    run = engine(lambda: step(step(), step()))
    assert run.begin() == [MakeReady(0), MakeReady(1)]
    assert run.handle(Begun(0)) == run.handle(Begun(1)) == run.handle(Completed(0, 1, "1")) == []
    assert (run.handle(Completed(1, 1, "2")), run.state) == ([MakeReady(2)], RunState.ACTIVE)
    run.handle(Begun(2))
    assert (run.handle(Completed(2, 1, "3")), run.state, run.order) == ([], RunState.COMPLETED, [0, 1, 2])


def test_a_failure_waits_for_its_delay_and_the_last_one_ends_the_job() -> None:
    run = engine(lambda: step(step()))
    run.begin()
    run.handle(Begun(0))
    assert run.handle(failed(0)) == [WaitFor(3.0, Due(0))]
    assert (run.jobs[0].state, run.jobs[0].reason) == (WorkState.RETRY, "failure")
    assert run.handle(Due(0)) == [MakeReady(0)]
    run.handle(Begun(0))
    assert run.handle(failed(0, token=2)) == []
    assert (states(run), run.state) == (["failed", "skipped"], RunState.FAILED)


def test_a_task_decides_about_its_delay_and_about_giving_up() -> None:
    run = engine(lambda: [step(), step(), step()])
    run.begin()
    for number in range(3):
        run.handle(Begun(number))
    assert run.handle(failed(0, delay=0.0)) == [MakeReady(0)]
    assert run.handle(failed(1, give_up=True)) == []
    assert run.jobs[1].reason == "gave_up"
    assert run.handle(Waited(2, 1, "too early", 7.0)) == [WaitFor(7.0, Due(2))]
    assert run.jobs[2].failures == {}


def test_a_late_report_changes_nothing() -> None:
    run = engine(lambda: step(step()))
    run.begin()
    run.handle(Begun(0))
    run.handle(failed(0, delay=0.0))
    run.handle(Begun(0))
    for late in (Completed(0, 1, "1"), Skipped(0, 1, "no"), failed(0), Waited(0, 1, "early")):
        assert (run.handle(late), run.jobs[0].state, run.jobs[0].result) == ([], WorkState.ACTIVE, None)
    run.handle(Cancelled("enough"))
    assert run.handle(Completed(0, 2, "1")) == []
    assert (states(run), run.state, run.reason) == (["cancelled", "cancelled"], RunState.CANCELLED, "enough")


def test_a_cancelled_retry_is_not_woken_by_its_delay() -> None:
    run = engine(lambda: step())
    run.begin()
    run.handle(Begun(0))
    run.handle(failed(0))
    run.handle(Cancelled())
    assert (run.handle(Due(0)), states(run)) == ([], ["cancelled"])


def test_a_job_cannot_begin_that_is_not_ready() -> None:
    run = engine(lambda: step(step()))
    run.begin()
    with pytest.raises(IllegalTransition):
        run.handle(Begun(1))


def test_deadlines_are_watched_only_where_something_follows_from_them() -> None:
    assert engine(lambda: step(), hard_sla="1m").begin() == [MakeReady(0)]
    run = engine(lambda: step(step.options(hard_sla="5s")()), hard_sla="1m", on_hard_sla="expire")
    assert run.begin() == [WaitFor(60.001, HardSlaMissed(None)), WaitFor(5.001, HardSlaMissed(0)), MakeReady(0)]
    run.handle(HardSlaMissed(0))
    assert (states(run), run.state) == (["expired", "skipped"], RunState.EXPIRED)


def test_a_map_asks_for_its_items_and_waits_for_them() -> None:
    run = engine(lambda: step(step.map([1, 2])))
    assert run.begin() == [Expand(0)]
    made = run.handle(Expanded(0, [MapItem("[0]", "[1]\n{}"), MapItem("[1]", "[2]\n{}")]))
    assert made == [MakeReady(2), MakeReady(3)]
    for number, result in ((3, '"b"'), (2, '"a"')):
        run.handle(Begun(number))
        effects = run.handle(Completed(number, 1, result))
    assert (effects, run.jobs[0].result) == ([MakeReady(1)], '["a","b"]')


def test_a_map_that_is_refused_fails_with_the_error() -> None:
    run = engine(lambda: step.map(step()))
    run.begin()
    run.handle(Begun(0))
    assert run.handle(Completed(0, 1, "7")) == [Expand(1)]
    run.handle(Refused(1, {"type": "MapError", "message": "not a list"}))
    assert (states(run), run.jobs[1].error) == (["completed", "failed"], {"type": "MapError", "message": "not a list"})


def test_items_of_a_map_that_has_ended_are_not_made() -> None:
    run = engine(lambda: step.map([1]))
    run.begin()
    run.handle(Cancelled())
    assert (run.handle(Expanded(0, [MapItem("[0]", "[1]\n{}")])), len(run.jobs)) == ([], 1)


@given(st.randoms(use_true_random=False))
def test_every_run_ends_whatever_happens_to_its_jobs_and_nothing_is_left_ready(dice: random.Random) -> None:
    def wire() -> Any:
        made: list[Any] = []
        for _ in range(dice.randint(1, 9)):
            parents = dice.sample(made, dice.randint(0, min(3, len(made))))
            made.append(step.options(join=dice.choice(list(JoinRule)))(*parents))
        return made

    run = engine(wire, fail_fast=dice.random() < 0.2, finally_=step if dice.random() < 0.3 else None)
    ready: list[int] = []
    waiting: list[Due] = []

    def follow(effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, MakeReady):
                ready.append(effect.number)
            elif isinstance(effect, WaitFor) and isinstance(effect.event, Due):
                waiting.append(effect.event)

    follow(run.begin())
    while not run.state.terminal:
        if waiting and (not ready or dice.random() < 0.5):
            follow(run.handle(waiting.pop(0)))
            continue
        number = ready.pop(dice.randrange(len(ready)))
        if run.jobs[number].state is not WorkState.READY:
            continue
        follow(run.handle(Begun(number)))
        token = run.jobs[number].attempt
        reports = (Completed(number, token, "1"), Skipped(number, token, "no"), failed(number, token))
        follow(run.handle(dice.choice((*reports, HardSlaMissed(number)))))
    assert all(job.state.terminal for job in run.jobs)
    assert not [number for number in ready if run.jobs[number].state is WorkState.READY]

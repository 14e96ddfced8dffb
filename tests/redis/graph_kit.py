"""Graphs written as a user writes them, and a cluster of one that plays them step by step."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from marie_celery.authoring.compile import Compiler, Surroundings
from marie_celery.authoring.dag import Dag
from marie_celery.authoring.options import RunOptions
from marie_celery.authoring.task import Task, task
from marie_celery.config import Settings
from marie_celery.model.retry import FailureKind
from marie_celery.scheduler.expander import expander
from marie_celery.store.keys import Keys, job_id, number_of
from marie_celery.store.records import NewRun
from marie_celery.store.store import Store
from tests.redis.redis_runs import EXECUTOR, WORKER, advance_to_the_end, begin, give_capacity, submit

Answers = Mapping[str, Any]
"""Name of a job → its result, or an exception class name: "failed", "skipped"."""

FAILED, SKIPPED = object(), object()


@task(executor=EXECUTOR, name="kit.source")
def source(*given: Any) -> Any: ...


@task(executor=EXECUTOR, name="kit.work")
def work(x: Any = None, *, same: Any = None, more: Any = None) -> Any: ...


@task(executor=EXECUTOR, name="kit.last")
def last() -> Any: ...


def named(name: str, of: Task[..., Any] = source, **options: Any) -> Task[..., Any]:
    return of.options(name=name, **options)


def compiled(function: Callable[[], Any], settings: Settings | None = None, **options: Any) -> NewRun:
    made: Dag[[], Any] = Dag(function, "d", RunOptions().but(**options))
    builder, output = made.build()
    return Compiler(builder, made.run_options, Surroundings(settings or Settings(), [EXECUTOR])).compile(output)


def started(store: Store, function: Callable[[], Any], **options: Any) -> str:
    """A run of this graph, with room for its jobs."""
    give_capacity(store)
    return submit(store, compiled(function, store.settings, **options))


def expand(store: Store) -> None:
    """What schedulers do for maps, until there is nothing to do."""
    duty = expander(store)
    while duty.turn().worked:
        pass


def waiting(store: Store, executor: str = EXECUTOR) -> list[str]:
    sets = (store.keys.ready, store.keys.new)
    return sorted(name for key in sets for name in store.client.zrange(key(executor), 0, -1))


def end(store: Store, job: str, answer: Any) -> None:
    token = begin(store, job)
    if answer is FAILED:
        store.fail(job, token, WORKER, FailureKind.FAILURE, {"type": "E", "message": "no"}, give_up=True)
    elif answer is SKIPPED:
        store.skip(job, token, WORKER, "not needed")
    else:
        store.finish(job, token, WORKER, json.dumps(answer, separators=(",", ":")))


def play(store: Store, answers: Answers) -> None:
    """Runs all that is ready, and what becomes ready by it, until nothing is."""
    for _ in range(10_000):
        advance_to_the_end(store)
        expand(store)
        ready = waiting(store)
        if not ready:
            return
        for job in ready:
            name = str(store.client.hget(store.keys.job(job), "name"))
            end(store, job, answers.get(name, 1))
    raise AssertionError("it goes on for ever")


def result(store: Store, run: str, name: str) -> Any:
    """What a job gave; raises if there is no result."""
    text = store.client.hget(store.keys.results(run), str(number(store, run, name)))
    return json.loads(text)


def number(store: Store, run: str, name: str) -> int:
    return number_of(job(store, run, name))


def job(store: Store, run: str, name: str) -> str:
    """The id of the last job of this name."""
    found = [each for each in jobs(store, run) if store.client.hget(store.keys.job(each), "name") == name]
    return found[-1]


def jobs(store: Store, run: str) -> list[str]:
    return [job_id(run, each) for each in range(int(store.client.hget(store.keys.run(run), "jobs")))]


def reasons(store: Store, run: str) -> dict[str, str]:
    """Name → state, with its reason if it has one."""
    found = {}
    for each in jobs(store, run):
        name, state, reason = store.client.hmget(store.keys.job(each), "name", "state", "reason")
        found[name] = f"{state}: {reason}" if reason else state
    return found


def counts_are_exact(store: Store, run: str) -> None:
    """The counts of a run are those of its jobs."""
    keys: Keys = store.keys
    fields = store.client.hgetall(keys.run(run))
    found: dict[str, int] = {}
    for each in jobs(store, run):
        state = store.client.hget(keys.job(each), "state")
        found[state] = found.get(state, 0) + 1
    ended = sum(number for state, number in found.items() if state in ENDS)
    assert {state: int(fields.get(state, 0)) for state in found} == found
    assert int(fields["left"]) == sum(found.values()) - ended


ENDS = ("completed", "skipped", "failed", "cancelled", "expired")

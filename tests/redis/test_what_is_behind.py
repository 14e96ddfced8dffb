"""A job that knows its children: what follows from its end is what would follow if it did not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from marie_celery.store.keys import job_id
from marie_celery.store.records import NewJob, NewRun
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    NOW,
    WORKER,
    begin,
    changes,
    dag,
    give_capacity,
    job,
    new_run,
    submit,
    without_what_is_behind,
)

CHAIN = {"a": [], "b": ["a"], "c": ["b"]}
FAN = {"a": [], "b": ["a"], "c": ["a"], "d": ["a"]}
JOIN = {"a": [], "b": [], "c": ["a", "b"]}
MESSAGE = "message"

Deed = Callable[[Store, str, int], object]


def go_on(store: Store, name: str, token: int) -> object:
    return store.end(name, token, WORKER, "completed", "1", MESSAGE)


def finish(store: Store, name: str, token: int) -> object:
    return store.finish(name, token, WORKER, "1")


def skip(store: Store, name: str, token: int) -> object:
    return store.skip(name, token, WORKER, "no need")


def unaware(run: NewRun) -> NewRun:
    jobs = [NewJob(without_what_is_behind(each.fields), each.inputs) for each in run.jobs]
    return replace(run, jobs=jobs)


def before_it_ends(store: Store, what: str) -> None:
    """Something an operator did meanwhile."""
    run = next(iter(store.client.zrange(store.keys.runs, 0, -1)))
    if what == "child held":
        store.hold("job", job_id(run, 1))
    elif what == "run paused":
        store.hold("run", run)
    elif what == "task held":
        store.hold("task", "t")
    elif what == "child more urgent":
        store.reprioritise(job_id(run, 1), priority=90)


@pytest.mark.parametrize("meanwhile", ["nothing", "child held", "run paused", "task held", "child more urgent"])
@pytest.mark.parametrize("deed", [go_on, finish, skip], ids=lambda deed: deed.__name__)
@pytest.mark.parametrize("graph", [CHAIN, FAN, JOIN], ids=["chain", "fan", "join"])
def test_it_makes_no_difference(store: Store, graph: dict[str, list[str]], deed: Deed, meanwhile: str) -> None:
    seen = []
    for run in (dag(graph), unaware(dag(graph))):
        store.client.flushall()
        store.now_ms = NOW
        give_capacity(store, 2)
        submit(store, run)
        first = next(iter(store.client.zrange(store.keys.runs, 0, -1)))
        token = begin(store, job_id(first, 0))
        before_it_ends(store, meanwhile)
        with changes(store) as changed:
            answer = deed(store, job_id(first, 0), token)
        seen.append((answer, changed))
    assert seen[0] == seen[1]


def test_the_next_is_passed_on_with_all_it_needs(store: Store) -> None:
    give_capacity(store, 1)
    jobs = [
        job("a", children=1, behind="next"),
        job("b", parents=1, deps=1, refs=0, level=1, plain=1, inputs='[{"$ref":0}]\n{}'),
    ]
    run = submit(store, new_run(jobs, roots=[0]))
    token = begin(store, job_id(run, 0))
    ended = store.end(job_id(run, 0), token, WORKER, "completed", '"x"', MESSAGE)
    assert ended.next is not None
    assert (ended.next.job_id, ended.next.token) == (job_id(run, 1), 1)
    assert ended.next.started.results == {0: '"x"'}
    assert dict(ended.next.started.job) == {"name": "b", "executor": "ocr", "task": "t"}
    kept = store.client.hgetall(store.keys.job(job_id(run, 1)))
    assert (kept["state"], kept["deps"], kept["worker"], kept["token"]) == ("active", "0", WORKER, "1")


def test_a_better_one_that_waits_goes_before_the_next(store: Store) -> None:
    give_capacity(store, 2)
    deep = submit(store, new_run([job("r", level=9), job("s", level=9)]))
    begin(store, job_id(deep, 0))
    run = submit(store, dag(CHAIN))
    token = begin(store, job_id(run, 0))
    ended = store.end(job_id(run, 0), token, WORKER, "completed", "1", MESSAGE)
    assert ended.next is not None
    assert ended.next.job_id == job_id(deep, 1), "it is deeper"
    child = job_id(run, 1)
    assert store.client.hmget(store.keys.job(child), "state", "deps") == ["ready", "0"]
    assert store.client.zrange(store.keys.ready("ocr"), 0, -1) == [child]

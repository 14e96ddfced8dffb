"""Asking: find the jobs to look at, look once, tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from marie_celery.errors import UnknownJob, UnknownRun
from marie_celery.model.states import WorkState
from marie_celery.store.caller import Caller
from marie_celery.store.keys import RUN_ID_LENGTH, number_of, run_of
from marie_celery.store.why.case import Case
from marie_celery.store.why.jobs import reasons_of
from marie_celery.store.why.records import Why
from marie_celery.store.why.runs import reasons_of_run
from marie_celery.store.why.snapshot import MOST_SHOWN, Snapshot, look
from marie_celery.store.why.walking import groups_of, open_parents


def why(store: Caller, id: str) -> Why:
    """Why the job does not run, or what the run waits for."""
    return _why_run(store, id) if len(id) <= RUN_ID_LENGTH else _why_job(store, id)


def _why_job(store: Caller, id: str) -> Why:
    run, tail = run_of(id), id[RUN_ID_LENGTH + 1 :]
    if not (tail.isascii() and tail.isdecimal()):
        raise UnknownJob(id)
    number = number_of(id)
    parents = _parents(store, run, [number])
    snapshot = _look(store, run, parents)
    if number not in snapshot.jobs:
        raise UnknownJob(id)
    job = snapshot.jobs[number]
    return Why(id, job.state, tuple(reasons_of(_case(snapshot, number, parents))), job.name)


def _why_run(store: Caller, run: str) -> Why:
    jobs = int(store.client.hget(store.keys.run(run), "jobs") or 0)
    groups = groups_of(store, run, jobs)
    parents = _parents(store, run, [group.first for group in groups if group.state == WorkState.CREATED])
    firsts = {group.first: parents.get(group.first, []) for group in groups}
    snapshot = _look(store, run, firsts)
    if not snapshot.run:
        raise UnknownRun(run)
    cases = [
        (group, _case(snapshot, group.first, firsts)) for group in groups if group.first in snapshot.jobs
    ]
    return Why(run, snapshot.run["state"], tuple(reasons_of_run(snapshot, cases)), snapshot.run.get("dag", ""))


def _parents(store: Caller, run: str, numbers: Iterable[int]) -> dict[int, list[int]]:
    return {number: open_parents(store, run, number, MOST_SHOWN) for number in numbers}


def _look(store: Caller, run: str, jobs: Mapping[int, Iterable[int]]) -> Snapshot:
    wanted = {each for number, parents in jobs.items() for each in (number, *parents)}
    return look(store, run, sorted(wanted))


def _case(snapshot: Snapshot, number: int, parents: Mapping[int, Iterable[int]]) -> Case:
    found = (snapshot.jobs[each] for each in parents[number])
    return Case(snapshot, snapshot.jobs[number], [each for each in found if not each.state.terminal])

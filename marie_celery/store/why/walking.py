"""Finding the jobs of a run that an answer has to name. What is found is looked at again in the snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from marie_celery.model.ranges import unpack
from marie_celery.model.states import WorkState
from marie_celery.store.caller import Caller
from marie_celery.store.keys import job_id

PAGE = 500
MOST_WALKED = 20_000
"""A larger run is told from this many of its jobs."""

Values = Sequence[str | None]

_QUIET = (WorkState.COMPLETED, WorkState.SKIPPED, WorkState.CANCELLED)


@dataclass(slots=True)
class Group:
    """Jobs of a run in one state, for one executor; those that are short of a resource apart."""

    state: str
    executor: str
    first: int
    jobs: int = 1


def walk(store: Caller, run: str, numbers: Sequence[int], *fields: str) -> Iterator[tuple[int, Values]]:
    for start in range(0, len(numbers), PAGE):
        page = numbers[start : start + PAGE]
        with store.client.pipeline(transaction=False) as pipe:
            for number in page:
                pipe.hmget(store.keys.job(job_id(run, number)), fields)
            yield from zip(page, pipe.execute(), strict=True)


def open_parents(store: Caller, run: str, number: int, most: int) -> list[int]:
    """Some of the parents that have not ended. Most stand shortly before their child, so the walk is short."""
    total, jobs, refs = _structure(store, run, number)
    before, after = range(min(number, jobs) - 1, -1, -1), range(number + 1, jobs)
    nearby = chain(
        walk(store, run, refs, "children", "state"),
        walk(store, run, before, "children", "state"),
        walk(store, run, after, "children", "state"),
    )
    parents: set[int] = set()
    found: list[int] = []
    for each, (children, state) in nearby:
        if len(parents) >= total or len(found) >= most:
            break
        if each in parents or not _contains(children or "", number):
            continue
        parents.add(each)
        if state and not WorkState(state).terminal:
            found.append(each)
    return found


def groups_of(store: Caller, run: str, jobs: int) -> list[Group]:
    """The jobs that have not ended, or not well, by state and executor."""
    groups: dict[tuple[str, str, bool], Group] = {}
    numbers = range(min(jobs, MOST_WALKED))
    for number, (state, executor, short) in walk(store, run, numbers, "state", "executor", "short"):
        if not state or state in _QUIET:
            continue
        kind = state, executor or "", bool(short)
        group = groups.get(kind)
        if group is None:
            groups[kind] = Group(state, executor or "", number)
        else:
            group.jobs += 1
    return list(groups.values())


def number_by_name(store: Caller, run: str, name: str) -> int | None:
    jobs = int(store.client.hget(store.keys.run(run), "jobs") or 0)
    return next((number for number, (known,) in walk(store, run, range(jobs), "name") if known == name), None)


def _structure(store: Caller, run: str, number: int) -> tuple[int, int, list[int]]:
    """How many parents it has, how many jobs there are, and the parents whose results it takes."""
    with store.client.pipeline(transaction=False) as pipe:
        pipe.hmget(store.keys.job(job_id(run, number)), "parents", "refs")
        pipe.hget(store.keys.run(run), "jobs")
        (parents, refs), jobs = pipe.execute()
    return int(parents or 0), int(jobs or 0), list(unpack(refs or ""))


def _contains(ranges: str, number: int) -> bool:
    for part in ranges.split():
        first, _, last = part.partition("-")
        if int(first) <= number <= int(last or first):
            return True
    return False

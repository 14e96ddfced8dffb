"""What a cluster has done, as records for `simulation`. Nothing here changes state.

The runtime of a job is the time from its last `active` to its end, by the event stream. The stream is capped, so of
old runs it may have lost a part; such a run is left out and counted, because a guess would pass for a measurement.
Jobs that never ran (skipped, cancelled) are left out of their run, and what waited for them waits for their parents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from redis import Redis

from marie_celery.model.graph import lay_out
from marie_celery.model.ranges import unpack
from marie_celery.model.states import TERMINAL, WorkState
from marie_celery.store.keys import Keys, job_id, run_of

PAGE = 500

RUN_FIELDS = ("created_at", "ended_at", "jobs", "priority", "soft", "hard")
JOB_FIELDS = ("task", "executor", "priority", "soft", "hard", "children", "control")

Fields = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Recording:
    runs: list[dict[str, Any]]
    """In the order of submission."""
    incomplete: int
    """Finished runs of which the event stream has lost a part."""


@dataclass(slots=True)
class _Times:
    """What the events tell of the jobs of some runs."""

    started_ms: dict[str, int] = field(default_factory=dict)
    ran_ms: dict[str, int | None] = field(default_factory=dict)
    """For each job that has ended, how long it ran; None if it never did."""


class Recorder:
    def __init__(self, client: Redis, keys: Keys) -> None:
        self.client: Any = client  # answers are text (decode_responses), which the client's types cannot tell
        self.keys = keys

    def record(self, limit: int) -> Recording:
        """The newest finished runs, at most so many."""
        finished = dict(islice(self._finished(), limit))
        times = self._times(finished)
        runs, incomplete = [], 0
        for run_id in sorted(finished):
            fields = finished[run_id]
            ids = [job_id(run_id, number) for number in range(int(fields["jobs"] or 0))]
            if not all(each in times.ran_ms for each in ids):
                incomplete += 1
                continue
            found = list(self._fields(ids))
            # A map is under way as long as its items are; what it takes is what they take.
            ran_ms = [None if job["control"] else times.ran_ms[each] for each, job in zip(ids, found, strict=True)]
            jobs = _jobs(fields, found, ran_ms)
            if jobs:
                runs.append(
                    {
                        "arrival_ms": int(fields["created_at"] or 0),
                        "priority": int(fields["priority"] or 0),
                        "soft_sla_ms": _number(fields["soft"]),
                        "hard_sla_ms": _number(fields["hard"]),
                        "jobs": jobs,
                    }
                )
        return Recording(runs, incomplete)

    def _finished(self) -> Iterator[tuple[str, Fields]]:
        """The newest first, read page by page."""
        first = 0
        while ids := self.client.zrange(self.keys.runs, first, first + PAGE - 1, desc=True):
            first += PAGE
            with self.client.pipeline(transaction=False) as pipe:
                for run_id in ids:
                    pipe.hmget(self.keys.run(run_id), RUN_FIELDS)
                found = pipe.execute()
            for run_id, values in zip(ids, found, strict=True):
                fields = dict(zip(RUN_FIELDS, values, strict=True))
                if fields["ended_at"] is not None:
                    yield run_id, fields

    def _times(self, runs: Mapping[str, Fields]) -> _Times:
        times = _Times()
        for event in self._events():
            job = event.get("job")
            if job is None or run_of(job) not in runs:
                continue
            at_ms = int(event["at"])
            if event["to"] == WorkState.ACTIVE:
                times.started_ms[job] = at_ms
            elif event["to"] in TERMINAL:
                if event["from"] != WorkState.ACTIVE:
                    times.ran_ms[job] = None
                elif job in times.started_ms:
                    times.ran_ms[job] = max(0, at_ms - times.started_ms[job])
        return times

    def _events(self) -> Iterator[dict[str, str]]:
        after = "-"
        while page := self.client.xrange(self.keys.events, after, "+", count=PAGE):
            for _, event in page:
                yield event
            after = f"({page[-1][0]}"

    def _fields(self, ids: list[str]) -> Iterator[Fields]:
        for first in range(0, len(ids), PAGE):
            with self.client.pipeline(transaction=False) as pipe:
                for job in ids[first : first + PAGE]:
                    pipe.hmget(self.keys.job(job), JOB_FIELDS)
                for values in pipe.execute():
                    yield dict(zip(JOB_FIELDS, values, strict=True))


def _jobs(run: Fields, jobs: list[Fields], ran_ms: list[int | None]) -> list[dict[str, Any]]:
    """The jobs that ran, parents first."""
    children = [list(unpack(job["children"] or "")) for job in jobs]
    order = _parents_first(children)
    # From the last to the first, so that the children of a job that is left out are known when they are asked for.
    behind: dict[int, set[int]] = {}
    for number in reversed(order):
        kept = ({child} if ran_ms[child] is not None else behind[child] for child in children[number])
        behind[number] = set().union(*kept)
    ran = [number for number in order if ran_ms[number] is not None]
    position = {number: place for place, number in enumerate(ran)}
    return [
        {
            "task": jobs[number]["task"],
            "executor": jobs[number]["executor"],
            "runtime_ms": ran_ms[number],
            "children": sorted(position[child] for child in behind[number]),
            "priority": _own(jobs[number], run, "priority"),
            "soft_sla_ms": _own(jobs[number], run, "soft"),
            "hard_sla_ms": _own(jobs[number], run, "hard"),
        }
        for number in ran
    ]


def _parents_first(children: list[list[int]]) -> list[int]:
    parents: list[list[int]] = [[] for _ in children]
    for number, behind in enumerate(children):
        for child in behind:
            parents[child].append(number)
    return lay_out(parents).order


def _own(job: Fields, run: Fields, name: str) -> int | None:
    """What the job has and did not get from its run."""
    return None if job[name] == run[name] else _number(job[name])


def _number(text: str | None) -> int | None:
    return None if text is None else int(text)

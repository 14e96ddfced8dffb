"""The life of a run without a server: events in, effects out.

No I/O, no clock, no threads. What the scripts in `store/lua` do to the hashes of a run in Redis, this does to objects,
in the same order: a job ends, its children are counted down and become ready or skipped, these ends spread on, and a
run whose jobs have all ended ends too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from marie_celery.local.events import (
    Begun,
    Cancelled,
    Completed,
    Due,
    Effect,
    Event,
    Expanded,
    Failed,
    Grown,
    HardSlaMissed,
    Refused,
    Report,
    Skipped,
    Waited,
    WaitFor,
)
from marie_celery.local.graph import Graph
from marie_celery.local.jobs import Items, Job, Reader
from marie_celery.model.joins import JoinRule
from marie_celery.model.ranges import unpack
from marie_celery.model.retry import FailureKind
from marie_celery.model.sla import OnHardSla
from marie_celery.model.states import RunState, WorkState
from marie_celery.store.records import NewRun

# Why a job failed for good, by what its last attempt died of.
_LAST_REASONS = {FailureKind.FAILURE: "failed", FailureKind.TIMEOUT: "timeout", FailureKind.CRASH: "poison"}


class Engine(Graph):
    def __init__(self, run: NewRun, now_ms: int = 0, on_hard_sla: OnHardSla = OnHardSla.ESCALATE) -> None:
        self._reader = Reader(run, now_ms, on_hard_sla)
        super().__init__(run, self._reader)
        self._now_ms = now_ms
        self._roots = list(unpack(run.fields["roots"]))
        self.order: list[int] = []
        """The jobs as they were begun, retries too."""
        self._handlers: dict[type, Callable[[Any], None]] = {
            Begun: self._begun,
            Completed: self._completed,
            Skipped: self._skipped,
            Failed: self._failed,
            Waited: self._waited,
            Expanded: self._expanded,
            Grown: self._grown,
            Refused: self._refused,
            Due: self._due,
            HardSlaMissed: self._hard_sla_missed,
            Cancelled: self._cancelled,
        }

    @property
    def hard_ms(self) -> int | None:
        return self._reader.slas[1]

    @property
    def soft_ms(self) -> int | None:
        return self._reader.slas[0]

    def begin(self) -> list[Effect]:
        """The run is accepted: its roots are let go, its deadlines are watched."""
        if self.hard_ms is not None and self._reader.expires:
            self._watch(self.hard_ms, HardSlaMissed(None), self._now_ms)
        for job in self.jobs:
            self._watch_own_sla(job, self._now_ms)
        for number in self._roots:
            self._release(self.jobs[number])
        return self._settle()

    def handle(self, event: Event) -> list[Effect]:
        self._handlers[type(event)](event)
        return self._settle()

    def _watch(self, hard_ms: int, event: HardSlaMissed, now_ms: int) -> None:
        # An SLA is missed only after its moment.
        self._effects.append(WaitFor((hard_ms + 1 - now_ms) / 1000, event))

    def _watch_own_sla(self, job: Job, now_ms: int) -> None:
        if job.watched and job.expires and job.hard_ms is not None:
            self._watch(job.hard_ms, HardSlaMissed(job.number), now_ms)

    def _begun(self, event: Begun) -> None:
        job = self.jobs[event.number]
        job.move(WorkState.DISPATCHED)
        job.move(WorkState.ACTIVE)
        job.attempt += 1
        self.order.append(job.number)
        if self.state is RunState.CREATED:
            self.state = RunState.ACTIVE

    def _reported(self, event: Report) -> Job | None:
        """The job, unless the report comes too late: it was cancelled or expired meanwhile."""
        job = self.jobs[event.number]
        return job if job.state is WorkState.ACTIVE and job.attempt == event.token else None

    def _completed(self, event: Completed) -> None:
        if job := self._reported(event):
            self._complete(job, event.result)

    def _skipped(self, event: Skipped) -> None:
        if job := self._reported(event):
            self._end(job, WorkState.SKIPPED, event.reason)

    def _failed(self, event: Failed) -> None:
        job = self._reported(event)
        if job is None:
            return
        job.error = event.error
        kind = event.kind
        count = job.failures[kind] = job.failures.get(kind, 0) + 1
        if event.give_up or not job.policy.allows(kind, count):
            self._bury(job, "gave_up" if event.give_up else _LAST_REASONS[kind])
            return
        delay = event.delay
        if delay is None:
            delay = 0.0 if kind is FailureKind.CRASH else job.policy.delay(count, event.roll)
        if delay <= 0:
            self._make_ready(job, kind)
        else:
            self._retry(job, delay, kind)

    def _waited(self, event: Waited) -> None:
        job = self._reported(event)
        if job is None:
            return
        seconds = event.seconds
        if seconds is None:
            gate_ms = job.fields.get("ask_again")
            seconds = job.policy.retry_delay if gate_ms is None else int(gate_ms) / 1000
        self._retry(job, seconds, event.reason)

    def _retry(self, job: Job, seconds: float, reason: str) -> None:
        job.move(WorkState.RETRY, reason)
        self._effects.append(WaitFor(seconds, Due(job.number)))

    def _due(self, event: Due) -> None:
        job = self.jobs[event.number]
        if job.state is WorkState.RETRY:
            self._make_ready(job)

    def _expanded(self, event: Expanded) -> None:
        job = self.jobs[event.number]
        if job.state is not WorkState.ACTIVE:
            return
        first = len(self.jobs)
        job.items = Items(range(first, first + len(event.items)), len(event.items))
        self._left += len(event.items)
        for number, item in enumerate(event.items, first):
            made = replace(
                job,
                number=number,
                name=f"{job.name}{item.label}",
                inputs=item.inputs,
                batch=item.size,
                control=None,
                map=job.number,
                rule=JoinRule.ALL_SUCCESS,
                children=(job.number,),
                parents=0,
                left=0,
                optional=frozenset(),
                gate=None,
                items=None,
                skipped_parents=0,
                failed_parents=0,
                failures={},
                state=WorkState.CREATED,
                reason="",
            )
            self.jobs.append(made)
            self._make_ready(made)
        job.reason = ""
        if not event.items:
            self._close(job)

    def _grown(self, event: Grown) -> None:
        job = self.jobs[event.number]
        if job.state is not WorkState.ACTIVE:
            return
        first = len(self.jobs)
        ends = []
        for graph in event.graphs:
            for new in graph:
                made = self._reader.read_within(len(self.jobs), new, job, event.now_ms)
                self.jobs.append(made)
                self._watch_own_sla(made, event.now_ms)
            # Its last job is what the item gives.
            made.map, made.children = job.number, (job.number,)
            ends.append(made.number)
        job.items = Items(ends, len(ends))
        job.reason = ""
        self._left += len(self.jobs) - first
        for made in self.jobs[first:]:
            if made.state is WorkState.CREATED and not made.parents and not made.shut:
                self._release(made)
        if not ends:
            self._close(job)

    def _refused(self, event: Refused) -> None:
        job = self.jobs[event.number]
        if job.state is WorkState.ACTIVE:
            self._bury(job, "failed", event.error)

    def _hard_sla_missed(self, event: HardSlaMissed) -> None:
        if event.number is None:
            concerned = [job for job in self.jobs if not job.watched and not job.is_last]
        else:
            # The items of a map have its deadline.
            concerned = [job for job in self.jobs if event.number in (job.number, job.map)]
        for job in concerned:
            self._stop(job, WorkState.EXPIRED, "hard_sla")

    def _cancelled(self, event: Cancelled) -> None:
        self._cancel(event.reason)

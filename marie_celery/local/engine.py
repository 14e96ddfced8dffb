"""The life of a run without a server: events in, effects out.

No I/O, no clock, no threads. What the scripts in `store/lua` do to the hashes of a run in Redis, this does to objects,
in the same order: a job ends, its children are counted down and become ready or skipped, these ends spread on, and a
run whose jobs have all ended ends too.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Any

from marie_celery.local.events import (
    Begun,
    Cancelled,
    Completed,
    Due,
    Effect,
    Event,
    Failed,
    HardSlaMissed,
    MakeReady,
    Report,
    Skipped,
    WaitFor,
)
from marie_celery.local.jobs import Job, Reader
from marie_celery.model.joins import Verdict
from marie_celery.model.retry import FailureKind
from marie_celery.model.sla import OnHardSla
from marie_celery.model.states import RunState, WorkState, run_outcome
from marie_celery.store.records import NewRun

FAIL_FAST = "fail_fast"

# Why a job failed for good, by what its last attempt died of.
_LAST_REASONS = {FailureKind.FAILURE: "failed", FailureKind.TIMEOUT: "timeout", FailureKind.CRASH: "poison"}


class Engine:
    def __init__(self, run: NewRun, now_ms: int = 0, on_hard_sla: OnHardSla = OnHardSla.ESCALATE) -> None:
        self._reader = Reader(run, now_ms, on_hard_sla)
        self._now_ms = now_ms
        self.jobs = [self._reader.read(number, job) for number, job in enumerate(run.jobs)]
        self.state = RunState.CREATED
        self.reason = ""
        """Why it was cancelled."""
        self.order: list[int] = []
        """The jobs as they were begun, retries too."""
        self._fails_fast = "fail_fast" in run.fields
        self._left = len(self.jobs)
        self._ended: deque[Job] = deque()
        self._effects: list[Effect] = []
        self._handlers: dict[type, Callable[[Any], None]] = {
            Begun: self._begun,
            Completed: self._completed,
            Skipped: self._skipped,
            Failed: self._failed,
            Due: self._due,
            HardSlaMissed: self._hard_sla_missed,
            Cancelled: self._cancelled,
        }

    @property
    def hard_ms(self) -> int | None:
        return self._reader.hard_ms

    @property
    def soft_ms(self) -> int | None:
        return self._reader.soft_ms

    def counts(self) -> Counter[WorkState]:
        return Counter(job.state for job in self.jobs)

    def begin(self) -> list[Effect]:
        """The run is accepted: its roots are let go, its deadlines are watched."""
        for moment_ms, event in self._deadlines():
            # An SLA is missed only after its moment.
            self._effects.append(WaitFor((moment_ms + 1 - self._now_ms) / 1000, event))
        for job in self.jobs:
            if not job.parents:
                self._release(job)
        return self._settle()

    def handle(self, event: Event) -> list[Effect]:
        self._handlers[type(event)](event)
        return self._settle()

    def _deadlines(self) -> Iterator[tuple[int, Event]]:
        if self._reader.hard_ms is not None and self._reader.expires:
            yield self._reader.hard_ms, HardSlaMissed(None)
        for job in self.jobs:
            if job.watched and job.expires and job.hard_ms is not None:
                yield job.hard_ms, HardSlaMissed(job.number)

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
            job.result = event.result
            self._end(job, WorkState.COMPLETED)

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
            self._end(job, WorkState.FAILED, "gave_up" if event.give_up else _LAST_REASONS[kind])
            self._spread()
            if self._fails_fast:
                self._cancelled(Cancelled(FAIL_FAST))
            return
        delay = event.delay
        if delay is None:
            delay = 0.0 if kind is FailureKind.CRASH else job.policy.delay(count, event.roll)
        if delay <= 0:
            self._make_ready(job, kind)
        else:
            job.move(WorkState.RETRY, kind)
            self._effects.append(WaitFor(delay, Due(job.number)))

    def _due(self, event: Due) -> None:
        job = self.jobs[event.number]
        if job.state is WorkState.RETRY:
            self._make_ready(job)

    def _hard_sla_missed(self, event: HardSlaMissed) -> None:
        concerned = (
            [job for job in self.jobs if not job.watched] if event.number is None else [self.jobs[event.number]]
        )
        for job in concerned:
            self._stop(job, WorkState.EXPIRED, "hard_sla")

    def _cancelled(self, event: Cancelled) -> None:
        if self.state.terminal or self.reason:
            return
        self.reason = event.reason
        for job in self.jobs:
            self._stop(job, WorkState.CANCELLED, event.reason)

    def _stop(self, job: Job, state: WorkState, reason: str) -> None:
        """What still runs is not waited for here; its report will be too late."""
        if not job.state.terminal:
            self._end(job, state, reason)

    def _release(self, job: Job) -> None:
        """Its parents let it go. A control job has nothing to run: it is done the moment it is ready."""
        if job.control:
            job.move(WorkState.READY)
            self._end(job, WorkState.COMPLETED, job.control)
        else:
            self._make_ready(job)

    def _make_ready(self, job: Job, reason: str = "") -> None:
        job.move(WorkState.READY, reason)
        self._effects.append(MakeReady(job.number))

    def _end(self, job: Job, state: WorkState, reason: str = "") -> None:
        job.move(state, reason)
        self._left -= 1
        if self._left:
            self._ended.append(job)
        else:
            by_order = bool(self.reason) and self.reason != FAIL_FAST
            self.state = run_outcome(self.counts(), cancelled=by_order)

    def _settle(self) -> list[Effect]:
        self._spread()
        effects, self._effects = self._effects, []
        return effects

    def _spread(self) -> None:
        while self._ended:
            job = self._ended.popleft()
            if self.state.terminal or self.reason:
                continue
            how = job.seen_as
            for number in job.children:
                self._parent_ended(self.jobs[number], how)

    def _parent_ended(self, job: Job, how: WorkState) -> None:
        match job.parent_ended(how):
            case Verdict.RUN:
                self._release(job)
            case Verdict.SKIP:
                self._end(job, WorkState.SKIPPED, "all_parents_skipped")
            case Verdict.UPSTREAM_FAILED:
                self._end(job, WorkState.SKIPPED, "upstream_failed")

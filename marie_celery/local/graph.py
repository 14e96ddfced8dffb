"""The graph of a run: what follows for others when a job ends, or when its parents let it go.

Mirrors `store/lua/include/{release,ending,settle,map}.lua`: same steps, same order, same words.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from functools import partial

from marie_celery.errors import BranchError, MapError
from marie_celery.local.control import decide, gather, item, join_items, pick
from marie_celery.local.events import Effect, Expand, MakeReady
from marie_celery.local.jobs import Job, Reader
from marie_celery.model.control import Control
from marie_celery.model.joins import Verdict
from marie_celery.model.ranges import unpack
from marie_celery.model.states import RunState, WorkState, run_outcome
from marie_celery.store.records import NewRun

FAIL_FAST = "fail_fast"
NOT_TAKEN = "branch_not_taken"
ALL_SKIPPED = "all_parents_skipped"
UPSTREAM_FAILED = Verdict.UPSTREAM_FAILED.value


class Graph:
    def __init__(self, run: NewRun, reader: Reader) -> None:
        self.jobs = [reader.read(number, job) for number, job in enumerate(run.jobs)]
        self.state = RunState.CREATED
        self.reason = ""
        """Why it was cancelled."""
        self._last = [self.jobs[int(run.fields[name])] for name in ("on_failure", "finally") if name in run.fields]
        self._fails_fast = "fail_fast" in run.fields
        self._must_fail_fast = False
        self._left = len(self.jobs)
        self._news: deque[Callable[[], None]] = deque()
        """What follows from ends of jobs, in the order of the ends."""
        self._effects: list[Effect] = []

    def counts(self) -> Counter[WorkState]:
        return Counter(job.state for job in self.jobs)

    def _release(self, job: Job) -> None:
        """Its parents let it go. A control job has nothing to run: most are done the moment they are ready."""
        if job.control is None:
            self._make_ready(job)
            return
        job.move(WorkState.READY)
        try:
            match job.control:
                case Control.MAP:
                    job.move(WorkState.ACTIVE, "expand")
                    self._effects.append(Expand(job.number))
                case Control.BRANCH | Control.SWITCH | Control.CHOOSE:
                    job.taken = decide(job, self.jobs)
                    self._end(job, WorkState.COMPLETED, f"took {', '.join(job.taken) or 'no path'}")
                case Control.PICK:
                    self._complete(job, pick(job, self.jobs), "pick")
                case Control.GATHER:
                    self._complete(job, gather(job, self.jobs), "gather")
                case Control.ITEM:
                    self._complete(job, item(job), "item")
                case Control.MERGE:
                    self._end(job, WorkState.COMPLETED, "merge")
        except (BranchError, MapError) as error:
            self._bury(job, "failed", _described(error))

    def _close(self, job: Job) -> None:
        """All items of a map have ended."""
        try:
            self._complete(job, join_items(job, self.jobs), "map")
        except MapError as error:
            self._bury(job, "failed", _described(error))

    def _make_ready(self, job: Job, reason: str = "") -> None:
        job.move(WorkState.READY, reason)
        self._effects.append(MakeReady(job.number))

    def _complete(self, job: Job, result: str, reason: str = "") -> None:
        job.result = result
        self._end(job, WorkState.COMPLETED, reason)

    def _bury(self, job: Job, reason: str, error: Mapping[str, str] | None = None) -> None:
        """It failed for good."""
        if error is not None:
            job.error = error
        self._end(job, WorkState.FAILED, reason)
        self._must_fail_fast = self._fails_fast

    def _end(self, job: Job, state: WorkState, reason: str = "") -> None:
        job.move(state, reason)
        self._left -= 1
        if not self._left:
            by_order = bool(self.reason) and self.reason != FAIL_FAST
            self.state = run_outcome(self.counts(), cancelled=by_order)
            return
        if self._left <= len(self._last):
            self._call_the_last()
        self._news.append(partial(self._spread, job))

    def _call_the_last(self) -> None:
        """When nothing is left but on_failure and finally, they run one after the other, in a cancelled run too."""
        waiting = [job for job in self._last if job.state is WorkState.CREATED]
        if not waiting or len(waiting) != self._left:
            return
        counts = self.counts()
        nothing_failed = not (counts[WorkState.FAILED] or counts[WorkState.EXPIRED])
        if nothing_failed and waiting[0].fields["final"] == "on_failure":
            self._end(waiting[0], WorkState.SKIPPED, "nothing_failed")
        else:
            self._make_ready(waiting[0])

    def _settle(self) -> list[Effect]:
        self._tell()
        if self._must_fail_fast:
            self._must_fail_fast = False
            self._cancel(FAIL_FAST)
            self._tell()
        effects, self._effects = self._effects, []
        return effects

    def _tell(self) -> None:
        """Nothing spreads in a run that is being cancelled."""
        while self._news:
            news = self._news.popleft()
            if not (self.state.terminal or self.reason):
                news()

    def _spread(self, job: Job) -> None:
        how = job.seen_as
        if job.map is not None:
            self._item_ended(self.jobs[job.map], how)
            return
        if (paths := job.paths) is not None:
            self._open_paths(job, how, paths)
        for number in job.children:
            child = self.jobs[number]
            child.parent_ended(job.number, how)
            self._consider(child)

    def _consider(self, job: Job) -> None:
        match job.verdict():
            case Verdict.RUN:
                self._release(job)
            case Verdict.SKIP:
                self._end(job, WorkState.SKIPPED, ALL_SKIPPED)
            case Verdict.UPSTREAM_FAILED:
                self._end(job, WorkState.SKIPPED, UPSTREAM_FAILED)

    def _open_paths(self, job: Job, how: WorkState, paths: list[tuple[str, str]]) -> None:
        """Jobs on the paths of a branch, or behind a gate, are let go or skipped."""
        for name, numbers in paths:
            skip = ""
            if how is WorkState.FAILED:
                skip = UPSTREAM_FAILED
            elif how is WorkState.SKIPPED:
                skip = NOT_TAKEN if job.reason == NOT_TAKEN else ALL_SKIPPED
            elif job.taken is not None and name not in job.taken:
                skip = NOT_TAKEN
            self._news.append(partial(self._walk_path, job, numbers, skip))

    def _walk_path(self, gate: Job, numbers: str, skip: str) -> None:
        """What hangs on a branch within the path waits for that one."""
        for number in unpack(numbers):
            job = self.jobs[number]
            if skip:
                if job.state is WorkState.CREATED:
                    self._end(job, WorkState.SKIPPED, skip)
            elif job.gate == gate.number:
                job.shut = False
                self._consider(job)

    def _item_ended(self, job: Job, how: WorkState) -> None:
        """A map waits for all of its items, unless one has failed it."""
        if job.state is not WorkState.ACTIVE or job.items is None:
            return
        items = job.items
        items.left -= 1
        items.failed += how is WorkState.FAILED
        verdict = items.verdict(job.rule)
        if verdict is Verdict.UPSTREAM_FAILED:
            self._end(job, WorkState.SKIPPED, UPSTREAM_FAILED)
        elif items.left == 0 and verdict is Verdict.RUN:
            self._close(job)
        elif items.left == 0:
            self._end(job, WorkState.SKIPPED, ALL_SKIPPED)

    def _cancel(self, reason: str) -> None:
        """Nothing more of it runs, but for what runs last."""
        if self.state.terminal or self.reason:
            return
        self.reason = reason
        for job in self.jobs:
            if not job.is_last:
                self._stop(job, WorkState.CANCELLED, reason)

    def _stop(self, job: Job, state: WorkState, reason: str) -> None:
        """What still runs is not waited for here; its report will be too late."""
        if not job.state.terminal:
            self._end(job, state, reason)


def _described(error: Exception) -> dict[str, str]:
    return {"type": type(error).__name__, "message": str(error)}

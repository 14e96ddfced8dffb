"""The reference: what jobs and runs may do, told from the guarantees alone and without a look at the scripts.

What an order does to the job it names is foretold exactly. What follows for other jobs (children, runs, things held
back) is judged: a move needs a cause that is still there to be seen, and where a cause is there and nothing is left to
do, the move must have happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from marie_celery.store.keys import attempt_id, job_id
from tests.stateful.graphs import Plot, Shape
from tests.stateful.picture import Picture

ENDED = frozenset({"completed", "skipped", "failed", "cancelled", "expired"})
AT_WORK = frozenset({"dispatched", "active"})


@dataclass(slots=True)
class ModelJob:
    id: str
    run: ModelRun
    plot: Plot
    state: str = "created"
    reason: str = ""
    token: int = 0
    epoch: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    held: bool = False
    expires: bool = False
    gone: bool = False
    runs_with: frozenset[int] | None = None
    """Of a job that runs again: those of its parents that do so with it."""

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def ended_badly(self) -> bool:
        """As its children see it."""
        return self.state in {"failed", "cancelled", "expired"} or self.reason == "upstream_failed"

    @property
    def attempt(self) -> str:
        return attempt_id(self.id, self.token)

    @property
    def parents(self) -> list[ModelJob]:
        return [self.run.jobs[number] for number in self.plot.parents]

    def verdict(self) -> str:
        """run, wait, or the reason why it is skipped, by how its parents stand."""
        if self.runs_with is not None:
            if not self.runs_with:
                return "run"
            if not any(self.run.jobs[number].ended for number in self.runs_with):
                return "wait"
        done = all(parent.ended for parent in self.parents)
        good = any(parent.state == "completed" for parent in self.parents)
        bad = any(parent.ended and parent.ended_badly for parent in self.parents)
        when_done = {
            "all_done": "run",
            "none_failed": "run",
            "all_success": "run" if good or not self.parents else "all_parents_skipped",
            "one_success": "upstream_failed" if bad else "all_parents_skipped",
            "one_failed": "all_parents_skipped",
        }
        early = {
            "none_failed": (bad, "upstream_failed"),
            "all_success": (bad, "upstream_failed"),
            "one_success": (good, "run"),
            "one_failed": (bad, "run"),
        }
        decided, verdict = early.get(self.plot.rule, (False, ""))
        if decided:
            return verdict
        return when_done[self.plot.rule] if done else "wait"

    def fails(self, kind: str, *, give_up: bool = False, delay: float | None = None) -> str:
        """Counts one more failure and tells what becomes of it: failed, retry, or ready at once."""
        self.failures[kind] += 1
        shape = self.run.shape
        tries = {"failure": shape.retry_limit, "timeout": 1, "crash": shape.crash_limit - 1}[kind]
        if give_up or self.failures[kind] > tries:
            return "failed"
        wait = delay if delay is not None else 0 if kind == "crash" else shape.retry_delay
        return "retry" if wait > 0 else "ready"


@dataclass(slots=True)
class ModelRun:
    id: str
    shape: Shape
    jobs: list[ModelJob] = field(default_factory=list)
    cancelled: bool = False
    expires: bool = False
    paused: bool = False
    pruned: bool = False
    runs_again: set[str] = field(default_factory=set)
    """Jobs that a replay has still to reset."""

    @property
    def ended(self) -> bool:
        return not self.runs_again and all(job.ended for job in self.jobs)

    @property
    def gone(self) -> bool:
        return self.pruned and all(job.gone for job in self.jobs)

    def cancelled_in(self, now: Picture) -> bool:
        """The order has been given; a run that fails fast gives it to itself a moment later."""
        return "cancel" in now.runs[self.id]

    def replay(self, numbers: Collection[int]) -> None:
        self.cancelled = self.expires = self.paused = False
        self.runs_again = {self.jobs[number].id for number in numbers}
        for number in numbers:
            job = self.jobs[number]
            job.runs_with = frozenset(job.plot.parents) & frozenset(numbers)
            job.expires = job.held = False


class Reference:
    def __init__(self) -> None:
        self.runs: dict[str, ModelRun] = {}
        self.held_tasks: set[str] = set()
        self.held_executors: set[str] = set()
        self.has_the_key = ""

    @property
    def jobs(self) -> Iterator[ModelJob]:
        return (job for run in self.runs.values() for job in run.jobs if not job.gone)

    def job(self, id: str) -> ModelJob:
        run, _, number = id.partition("-")
        return self.runs[run].jobs[int(number)]

    def add(self, id: str, shape: Shape) -> None:
        run = self.runs[id] = ModelRun(id, shape)
        run.jobs = [ModelJob(job_id(id, number), run, plot) for number, plot in enumerate(shape.jobs)]

    def held_back(self, job: ModelJob) -> bool:
        return job.held or job.run.paused or job.plot.task in self.held_tasks

    def ready(self, job: ModelJob) -> str:
        """Where a job goes that could run now."""
        return "held" if self.held_back(job) else "ready"

    def accept(self, now: Picture, foretold: Mapping[str, str], granted: Collection[str]) -> list[tuple[ModelJob, str]]:
        """Judge all that changed, and take it over. Returns the jobs that moved, each with its state before."""
        moved = []
        for job in self.jobs:
            state = now.state(job.id)
            if state is None:
                assert job.run.pruned, f"job {job.id} is lost"
                job.gone = True
                continue
            token = job.token + (job.id in granted)
            assert now.token(job.id) == token, f"the token of {job.id} is {now.token(job.id)} after {job.token}"
            job.token = token
            if state != job.state or now.epoch(job.id) != job.epoch:
                moved.append((job, job.state))
                job.state, job.reason = state, now.reason(job.id)
        for job, before in moved:
            self._judge(job, before, now.epoch(job.id), foretold)
        for id, state in foretold.items():
            found = self.job(id).state
            assert found == state, f"job {id} should be {state} and is {found}"
        return moved

    def _judge(self, job: ModelJob, before: str, epoch: int, foretold: Mapping[str, str]) -> None:
        if epoch != job.epoch:
            assert epoch == job.epoch + 1 and job.id in job.run.runs_again, f"nobody asked {job.id} to run again"
            assert before in ENDED
            job.run.runs_again.discard(job.id)
            job.epoch, before = epoch, "created"
            job.failures.clear()
            if job.state == "created":
                return
        if foretold.get(job.id) == job.state:
            if job.state == "failed" and job.run.shape.fail_fast:
                job.run.cancelled = True
            return
        reason = self._refusal(job, before)
        assert not reason, f"job {job.id} went from {before} to {job.state}: {reason}"

    def _refusal(self, job: ModelJob, before: str) -> str:
        if before in ENDED:
            return "it had ended"
        match before, job.state:
            case _, "cancelled":
                return "" if job.run.cancelled else "nobody cancelled it"
            case _, "expired":
                return "" if job.expires or job.run.expires else "it need not expire"
            case "created", "ready" | "held" | "completed":
                expected = "completed" if job.plot.control else self.ready(job)
                if job.verdict() != "run":
                    return f"its parents say {job.verdict()}"
                return "" if job.state == expected else f"it should be {expected}"
            case "created", "skipped":
                return "" if job.verdict() == job.reason else f"its parents say {job.verdict()}, not {job.reason}"
            case ("ready", "held") | ("held", "ready"):
                return "" if self.ready(job) == job.state else "what holds it back says otherwise"
        return "there is no cause"

"""What goes into and comes out of the store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from marie_celery.model.states import RunState, WorkState


class NewJob(NamedTuple):
    """A job of a submission: the fields of its hash, and its inputs as text."""

    fields: Mapping[str, str]
    inputs: str


@dataclass(frozen=True, slots=True)
class NewRun:
    """A submission, complete and checked."""

    fields: Mapping[str, str]
    specs: Mapping[str, str]
    executors: Sequence[str]
    jobs: Sequence[NewJob]
    key: str = ""
    duplicates: str = "reject_duplicate"
    highlander: str = ""
    """The name under which only one run may be under way and one may wait."""

    def returns(self) -> Returns:
        tasks = [job.fields["task"] for job in self.jobs]
        maps = {number for number, job in enumerate(self.jobs) if job.fields.get("control") == "map"}
        return Returns(self.fields["output"], tasks, maps)


@dataclass(frozen=True, slots=True)
class Returns:
    """What a run gives when it has completed, but for the results. Nothing of it changes after the submit."""

    output: str
    """As JSON, with references where results go."""
    tasks: Sequence[str] | Mapping[int, str]
    """By the number of the job; at least of those that the output refers to."""
    maps: Collection[int]
    """Jobs whose result is a list of what their task gives."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A ready job, as the planner and the transport need it."""

    job_id: str
    executor: str
    task: str
    level: int
    priority: int
    soft_ms: int | None
    hard_ms: int | None
    submitted_ms: int
    activated_ms: int | None
    """When its run began; None while it is new."""
    ready_ms: int
    estimate_ms: int | None
    path_ms: int | None
    time_limit: float | None
    soft_time_limit: float | None
    needs: str | None = None
    """[resource, amount, key] … as JSON."""
    skips: int = 0
    """How often others have passed it while it was short of something."""


@dataclass(frozen=True, slots=True)
class Room:
    executor: str
    free: int
    waiting: int
    credit: int
    """Thousandths of a choice that new runs have saved up here."""
    candidates: Sequence[Candidate]
    tenant: str = ""
    virtual_ms: float = 0.0
    """How much of the executor its tenant has had, divided by its weight."""
    weight: int = 1000
    """In thousandths."""
    held_ms: int | None = None
    """Since when a job of this executor waits that an operator holds back; known with planners that do not park."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What could be dispatched at this moment of Redis' clock."""

    now_ms: int
    planner: str
    """The one in force."""
    due_ms: Mapping[str, int]
    """Milliseconds until duties have something to do; -1 = not in sight."""
    rooms: Sequence[Room]
    parks: bool = True
    """Whether the planner lets jobs stand aside that are short of a resource."""


@dataclass(frozen=True, slots=True)
class Message:
    """A rendered message for one kind of job: where it goes, and its text with marks to fill in."""

    queue_key: str
    template: str


@dataclass(frozen=True, slots=True)
class Claim:
    """The answer to one dispatch: the token if the job was booked, else why not."""

    job_id: str
    code: int
    token: int


@dataclass(frozen=True, slots=True)
class Started:
    """What a worker gets when it begins an attempt."""

    inputs: str
    job: Mapping[str, str]
    results: Mapping[int, str | None]
    dag: str
    items: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Resource → names of what is booked, where there are names."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A job that a worker was given with the end of another: it has begun."""

    job_id: str
    token: int
    started: Started

    @property
    def task(self) -> str:
        return self.started.job["task"]


@dataclass(frozen=True, slots=True)
class Ended:
    counts: bool
    """False if the token was stale: nothing was changed."""
    next: Taken | None = None


@dataclass(frozen=True, slots=True)
class Reaped:
    workers: int
    lost: int
    resent: int
    abandoned: int

    def __bool__(self) -> bool:
        return any((self.workers, self.lost, self.resent, self.abandoned))


@dataclass(frozen=True, slots=True)
class ExecutorView:
    name: str
    capacity: int
    target: int | None
    ready: int
    holders: Mapping[str, str]
    """attempt → worker, '' while nobody has started it"""
    workers: Mapping[str, int]
    short: int = 0
    """Of the ready jobs, those that wait for a resource."""


@dataclass(frozen=True, slots=True)
class DrainedWorker:
    """A worker that an operator has taken out of service."""

    name: str
    is_alive: bool
    jobs: int
    """What it still runs."""


@dataclass(frozen=True, slots=True)
class JobView:
    job_id: str
    state: WorkState
    task: str
    name: str
    executor: str
    level: int
    attempt: int
    reason: str
    worker: str
    changed_ms: int | None
    children: str = ""
    """Job numbers as ranges."""
    control: str = ""
    """What it does instead of work; empty for a job that a worker runs."""
    error: Mapping[str, str] | None = None
    progress: float | None = None
    """Part that its present or last attempt has done, 0 to 1; None if it did not tell."""
    progress_note: str = ""


@dataclass(frozen=True, slots=True)
class RunView:
    run_id: str
    state: RunState
    dag: str
    priority: int
    jobs: int
    counts: Mapping[WorkState, int]
    created_ms: int
    started_ms: int | None = None
    ended_ms: int | None = None
    soft_ms: int | None = None
    hard_ms: int | None = None
    key: str = ""
    reason: str = ""
    output: str = "null"
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def done(self) -> int:
        return sum(number for state, number in self.counts.items() if state.terminal)

"""What is simulated: runs that arrive, their jobs, and how long each job really takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

# Any moment will do, but ranks are made for clocks that count from 1970.
START_MS = 1_700_000_000_000


@dataclass(frozen=True, slots=True)
class WorkloadJob:
    """A node of a run. Children are positions in `WorkloadRun.jobs`, always behind their parents.

    Priority and SLAs are those of the run unless the job has its own.
    """

    task: str
    executor: str
    runtime_ms: int
    children: tuple[int, ...] = ()
    priority: int | None = None
    soft_sla_ms: int | None = None
    hard_sla_ms: int | None = None

    @property
    def has_own_sla(self) -> bool:
        return self.soft_sla_ms is not None or self.hard_sla_ms is not None


@dataclass(frozen=True, slots=True)
class WorkloadRun:
    """One submission. The SLAs are moments on the same clock as the arrival."""

    arrival_ms: int
    jobs: tuple[WorkloadJob, ...]
    priority: int = 50
    soft_sla_ms: int | None = None
    hard_sla_ms: int | None = None

    def levels(self) -> list[int]:
        """The depth of each job from the root."""
        levels = [0] * len(self.jobs)
        for position, job in enumerate(self.jobs):
            for child in job.children:
                levels[child] = max(levels[child], levels[position] + 1)
        return levels

    def shortest_ms(self) -> int:
        """How long the run takes if no job ever waits."""
        return longest_path_ms(self.jobs)


@dataclass(frozen=True, slots=True)
class Workload:
    """Runs in the order of their arrival, and the slots that they compete for."""

    name: str
    slots: Mapping[str, int]
    runs: tuple[WorkloadRun, ...]

    @property
    def job_count(self) -> int:
        return sum(len(run.jobs) for run in self.runs)

    def work_ms(self) -> dict[str, int]:
        """The runtime of all jobs by executor."""
        return work_by_executor(job for run in self.runs for job in run.jobs)


def longest_path_ms(jobs: Sequence[WorkloadJob]) -> int:
    paths = [0] * len(jobs)
    for position in reversed(range(len(jobs))):
        job = jobs[position]
        paths[position] = job.runtime_ms + max((paths[child] for child in job.children), default=0)
    return max(paths, default=0)


def work_by_executor(jobs: Iterable[WorkloadJob]) -> dict[str, int]:
    work: Counter[str] = Counter()
    for job in jobs:
        work[job.executor] += job.runtime_ms
    return dict(work)

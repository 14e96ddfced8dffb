"""A cluster in virtual time: the planners are the real ones, only slots and clocks are made up.

Time jumps from event to event. At each moment what has finished frees its slot, what has arrived or become
ready is ranked, and then every executor with room takes its best jobs, as the scheduler does it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from marie_celery.planning.critical_path import remaining_paths
from marie_celery.planning.estimates import RuntimeEstimate
from marie_celery.planning.job import FlatJob
from marie_celery.planning.planner import ExecutionPlanner
from marie_celery.planning.share import share_in_thousandths
from marie_celery.simulation.ready_set import ReadySet
from marie_celery.simulation.workload import Workload, WorkloadRun

NEVER_MS = 2**62

# Often enough for a bar that moves, rarely enough to cost nothing.
JOBS_PER_REPORT = 500


@dataclass(slots=True)
class JobTrace:
    ready_ms: int
    started_ms: int
    finished_ms: int


@dataclass(frozen=True, slots=True)
class Trace:
    """What happened to each run and each job, in the order of the workload."""

    run_finished_ms: list[int]
    jobs: list[list[JobTrace]]
    reranks: int


class _Run:
    """A run on its way."""

    def __init__(self, number: int, spec: WorkloadRun, estimates: Mapping[str, RuntimeEstimate]) -> None:
        self.number = number
        self.spec = spec
        self.levels = spec.levels()
        self.parents_left = [0] * len(spec.jobs)
        for job in spec.jobs:
            for child in job.children:
                self.parents_left[child] += 1
        graph = {position: job.children for position, job in enumerate(spec.jobs)}
        self.paths = remaining_paths(graph, lambda position: _seconds(estimates, spec.jobs[position].task))
        self.traces = [JobTrace(0, 0, 0) for _ in spec.jobs]
        self.waiting: dict[int, FlatJob] = {}
        self.activated_ms: int | None = None
        self.jobs_left = len(spec.jobs)
        self.finished_ms = spec.arrival_ms


class Simulator:
    """One workload under one planner. Estimates are learned on the way, as a new installation learns them."""

    def __init__(self, workload: Workload, planner: ExecutionPlanner, new_dag_share: float = 0.3) -> None:
        share = share_in_thousandths(new_dag_share)
        self._workload = workload
        self._free = dict(workload.slots)
        self._ready = {executor: ReadySet(planner, share) for executor in workload.slots}
        self._estimates: defaultdict[str, RuntimeEstimate] = defaultdict(RuntimeEstimate)
        self._running: list[tuple[int, int, int]] = []
        self._runs: list[_Run] = []
        self._now_ms = 0
        self._finished = 0

    def run(self, on_progress: Callable[[int], None] | None = None) -> Trace:
        """`on_progress` hears now and then how many more jobs have finished; its sum is all of them."""
        reported = 0
        arrivals = deque(self._workload.runs)
        while arrivals or self._running:
            self._now_ms = min(
                arrivals[0].arrival_ms if arrivals else NEVER_MS,
                self._running[0][0] if self._running else NEVER_MS,
            )
            while self._running and self._running[0][0] <= self._now_ms:
                _, number, position = heappop(self._running)
                self._finish(self._runs[number], position)
            while arrivals and arrivals[0].arrival_ms <= self._now_ms:
                self._submit(arrivals.popleft())
            self._dispatch()
            if on_progress and self._finished - reported >= JOBS_PER_REPORT:
                on_progress(self._finished - reported)
                reported = self._finished
        if on_progress:
            on_progress(self._finished - reported)
        return Trace(
            [run.finished_ms for run in self._runs],
            [run.traces for run in self._runs],
            sum(ready.reranks for ready in self._ready.values()),
        )

    def _submit(self, spec: WorkloadRun) -> None:
        run = _Run(len(self._runs), spec, self._estimates)
        self._runs.append(run)
        for position, parents in enumerate(run.parents_left):
            if parents == 0:
                self._make_ready(run, position)

    def _make_ready(self, run: _Run, position: int) -> None:
        spec, node = run.spec, run.spec.jobs[position]
        run.traces[position].ready_ms = self._now_ms
        job = FlatJob(
            job_id=f"{run.number:08}-{position:05}",
            run_id=f"{run.number:08}",
            task=node.task,
            executor=node.executor,
            level=run.levels[position],
            priority=spec.priority if node.priority is None else node.priority,
            soft_sla_ms=spec.soft_sla_ms if node.soft_sla_ms is None else node.soft_sla_ms,
            hard_sla_ms=spec.hard_sla_ms if node.hard_sla_ms is None else node.hard_sla_ms,
            submitted_ms=spec.arrival_ms,
            ready_ms=self._now_ms,
            estimated_runtime=self._estimates[node.task].seconds,
            remaining_path=run.paths[position],
            run_activated_ms=run.activated_ms,
        )
        run.waiting[position] = job
        self._ready[node.executor].put(job, self._now_ms)

    def _dispatch(self) -> None:
        for executor, ready in self._ready.items():
            while self._free[executor] > 0 and len(ready):
                job = ready.take(self._now_ms)
                self._start(self._runs[int(job.run_id)], int(job.job_id[9:]))

    def _start(self, run: _Run, position: int) -> None:
        node = run.spec.jobs[position]
        del run.waiting[position]
        if run.activated_ms is None:
            self._activate(run)
        self._free[node.executor] -= 1
        run.traces[position].started_ms = self._now_ms
        heappush(self._running, (self._now_ms + node.runtime_ms, run.number, position))

    def _activate(self, run: _Run) -> None:
        run.activated_ms = self._now_ms
        for position, job in run.waiting.items():
            run.waiting[position] = activated = replace(job, run_activated_ms=self._now_ms)
            self._ready[job.executor].put(activated, self._now_ms)

    def _finish(self, run: _Run, position: int) -> None:
        node = run.spec.jobs[position]
        run.traces[position].finished_ms = self._now_ms
        self._free[node.executor] += 1
        self._estimates[node.task] = self._estimates[node.task].observe(node.runtime_ms / 1000)
        self._finished += 1
        run.jobs_left -= 1
        if run.jobs_left == 0:
            run.finished_ms = self._now_ms
        for child in node.children:
            run.parents_left[child] -= 1
            if run.parents_left[child] == 0:
                self._make_ready(run, child)


def _seconds(estimates: Mapping[str, RuntimeEstimate], task: str) -> float | None:
    return estimates[task].seconds if task in estimates else None

"""What a planner made of a workload, in figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from marie_celery.model.priority import PRIORITIES
from marie_celery.planning.planner import ExecutionPlanner
from marie_celery.planning.settings import PlanningSettings
from marie_celery.simulation.engine import Simulator, Trace
from marie_celery.simulation.figures import Figure
from marie_celery.simulation.planners import resolve
from marie_celery.simulation.workload import Workload

NEW_DAG_SHARE = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerResult:
    planner: str
    hard_missed: int
    soft_missed: int
    weighted_tardiness: float
    """Mean seconds by which the SLAs were missed (the hard one if there is one), `normal` weighing 1."""
    mean_wait: float
    p99_wait: float
    longest_wait: float
    starved: int
    """Jobs that waited longer than the starvation timeout."""
    makespan: float
    utilisation: float
    """Of the busiest executor."""
    reranks: int

    def value(self, figure: Figure) -> float:
        return float(getattr(self, figure.name))


@dataclass(frozen=True, slots=True)
class Comparison:
    """One workload under several planners."""

    workload: str
    runs: int
    jobs: int
    hard_slas: int
    soft_slas: int
    results: tuple[PlannerResult, ...]

    @property
    def headline(self) -> str:
        return (
            f"{self.workload}: {self.runs:,} runs, {self.jobs:,} jobs, "
            f"{self.hard_slas:,} hard and {self.soft_slas:,} soft SLAs"
        )

    def best(self, figure: Figure) -> float:
        values = [result.value(figure) for result in self.results]
        return max(values) if figure.more_is_better else min(values)


def compare(
    workload: Workload,
    planners: Iterable[str],
    settings: PlanningSettings | None = None,
    *,
    new_dag_share: float = NEW_DAG_SHARE,
    on_progress: Callable[[str, int], None] | None = None,
) -> Comparison:
    """Runs the workload under each planner; `on_progress` hears under which how many more jobs are done."""
    results = []
    for name in planners:
        hear = None if on_progress is None else partial(on_progress, name)
        chosen = resolve(name, settings)
        results.append(simulate(workload, name, chosen, settings, new_dag_share=new_dag_share, on_progress=hear))
    promised = list(_promises(workload))
    return Comparison(
        workload.name,
        len(workload.runs),
        workload.job_count,
        sum(promise.hard_ms is not None for promise in promised),
        sum(promise.soft_ms is not None for promise in promised),
        tuple(results),
    )


def simulate(
    workload: Workload,
    name: str,
    planner: ExecutionPlanner,
    settings: PlanningSettings | None = None,
    *,
    new_dag_share: float = NEW_DAG_SHARE,
    on_progress: Callable[[int], None] | None = None,
) -> PlannerResult:
    trace = Simulator(workload, planner, new_dag_share).run(on_progress)
    return measure(workload, name, trace, settings or PlanningSettings())


def measure(workload: Workload, name: str, trace: Trace, settings: PlanningSettings) -> PlannerResult:
    outcomes = list(zip(_promises(workload), _ends(workload, trace), strict=True))
    waits = sorted(job.started_ms - job.ready_ms for jobs in trace.jobs for job in jobs) or [0]
    begin_ms = workload.runs[0].arrival_ms if workload.runs else 0
    makespan_ms = max(trace.run_finished_ms, default=begin_ms) - begin_ms
    busiest_ms = max(
        (work_ms / workload.slots[executor] for executor, work_ms in workload.work_ms().items()), default=0.0
    )
    return PlannerResult(
        planner=name,
        hard_missed=sum(_missed(end_ms, promise.hard_ms) for promise, end_ms in outcomes),
        soft_missed=sum(_missed(end_ms, promise.soft_ms) for promise, end_ms in outcomes),
        weighted_tardiness=_weighted_tardiness(outcomes),
        mean_wait=sum(waits) / len(waits) / 1000,
        p99_wait=waits[len(waits) * 99 // 100] / 1000,
        longest_wait=waits[-1] / 1000,
        starved=sum(0 < settings.starvation_timeout_ms < wait for wait in waits),
        makespan=makespan_ms / 1000,
        utilisation=busiest_ms / makespan_ms if makespan_ms else 0.0,
        reranks=trace.reranks,
    )


class _Promise(NamedTuple):
    soft_ms: int | None
    hard_ms: int | None
    priority: int


def _promises(workload: Workload) -> Iterator[_Promise]:
    """The SLAs of each run, followed by those that its jobs have of their own."""
    for run in workload.runs:
        yield _Promise(run.soft_sla_ms, run.hard_sla_ms, run.priority)
        for job in run.jobs:
            if job.has_own_sla:
                priority = run.priority if job.priority is None else job.priority
                yield _Promise(job.soft_sla_ms, job.hard_sla_ms, priority)


def _ends(workload: Workload, trace: Trace) -> Iterator[int]:
    """When each promise was met, in the same order."""
    for run, finished_ms, traces in zip(workload.runs, trace.run_finished_ms, trace.jobs, strict=True):
        yield finished_ms
        for job, done in zip(run.jobs, traces, strict=True):
            if job.has_own_sla:
                yield done.finished_ms


def _missed(finished_ms: int, sla_ms: int | None) -> bool:
    return sla_ms is not None and finished_ms > sla_ms


def _weighted_tardiness(outcomes: list[tuple[_Promise, int]]) -> float:
    total, count = 0.0, 0
    for promise, finished_ms in outcomes:
        due_ms = promise.soft_ms if promise.hard_ms is None else promise.hard_ms
        if due_ms is not None:
            count += 1
            total += max(0, finished_ms - due_ms) * max(1, promise.priority) / PRIORITIES["normal"]
    return total / count / 1000 if count else 0.0

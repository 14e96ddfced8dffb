"""Workloads made from a description and a seed; the same two always make the same workload."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType

from marie_celery.errors import ConfigError
from marie_celery.simulation.arrivals import ARRIVALS, arrival_times
from marie_celery.simulation.shapes import EXECUTORS, SHAPES, TaskProfile, build_jobs
from marie_celery.simulation.workload import (
    START_MS,
    Workload,
    WorkloadJob,
    WorkloadRun,
    longest_path_ms,
    work_by_executor,
)

MINUTE_MS = 60_000

# A promise is a span plus this multiple of what the run takes at least, so each of them can be kept.
PATHS_PROMISED = 2


@dataclass(frozen=True, slots=True)
class SlaClass:
    """A kind of customer: what was promised to them, and which priorities they set how often."""

    weight: float
    soft_minutes: float | None
    hard_minutes: float | None
    priorities: Mapping[int, float]


SLA_MIX = (
    SlaClass(0.30, 0.1, 0.25, {50: 0.5, 80: 0.4, 100: 0.1}),
    SlaClass(0.30, 2, 6, {20: 0.1, 50: 0.8, 80: 0.1}),
    SlaClass(0.20, None, 60, {0: 0.2, 20: 0.4, 50: 0.4}),
    SlaClass(0.05, 15, None, {50: 1.0}),
    SlaClass(0.15, None, None, {0: 0.2, 20: 0.3, 50: 0.5}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSpec:
    """`load` is the work that arrives at the busiest executor, relative to what it can do."""

    name: str
    jobs: int = 10_000
    load: float = 0.8
    arrivals: str = "poisson"
    runtime_tail: float | None = None
    """Pareto exponent of the size of a run; None for a size that varies mildly."""
    slots: Mapping[str, int] = field(
        default_factory=lambda: MappingProxyType({"extract": 4, "ocr": 16, "classify": 3})
    )
    shapes: Mapping[str, float] = field(
        default_factory=lambda: MappingProxyType(
            {"single": 0.3, "chain": 0.25, "diamond": 0.15, "fan": 0.2, "layers": 0.1}
        )
    )
    sla_mix: tuple[SlaClass, ...] = SLA_MIX

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise ConfigError(f"a workload needs at least one job, not {self.jobs}")
        _check_range("load", self.load, 0.01, 100)
        if self.runtime_tail is not None:
            _check_range("runtime_tail", self.runtime_tail, 0.1, 100)
        if self.arrivals not in ARRIVALS:
            raise ConfigError(f"there are no arrivals '{self.arrivals}', only {', '.join(ARRIVALS)}")
        _check_names("shape", self.shapes, SHAPES)
        _check_names("executor", self.slots, EXECUTORS)
        for executor in EXECUTORS:
            if self.slots.get(executor, 0) < 1:
                raise ConfigError(f"the executor '{executor}' needs at least one slot")
        _check_weights("shapes", self.shapes.values())
        _check_weights("sla_mix", [each.weight for each in self.sla_mix])


def _check_range(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise ConfigError(f"{name} must be between {least} and {most}, not {value}")


def _check_names(kind: str, given: Iterable[str], known: Collection[str]) -> None:
    for name in given:
        if name not in known:
            raise ConfigError(f"generated runs have no {kind} '{name}', only {', '.join(known)}")


def _check_weights(name: str, weights: Collection[float]) -> None:
    if not all(0 <= weight < math.inf for weight in weights) or not sum(weights) > 0:
        raise ConfigError(f"the weights of {name} must be numbers from 0 up, and not all 0")


def generate(spec: WorkloadSpec, seed: int) -> Workload:
    random = Random(f"{spec.name}/{seed}")
    graphs: list[tuple[WorkloadJob, ...]] = []
    jobs = 0
    while jobs < spec.jobs:
        graphs.append(_graph(spec, random))
        jobs += len(graphs[-1])
    work = work_by_executor(job for graph in graphs for job in graph)
    span_ms = max(work_ms / spec.slots[executor] for executor, work_ms in work.items()) / spec.load
    arrivals = arrival_times(spec.arrivals, len(graphs), int(span_ms), random)
    runs = tuple(
        _run(spec, graph, START_MS + moment, random) for graph, moment in zip(graphs, arrivals, strict=True)
    )
    return Workload(spec.name, dict(spec.slots), runs)


def _graph(spec: WorkloadSpec, random: Random) -> tuple[WorkloadJob, ...]:
    (shape,) = random.choices(list(spec.shapes), list(spec.shapes.values()))
    if spec.runtime_tail is None:
        size = random.lognormvariate(0.0, 0.5)
    else:
        size = 0.5 * min(200.0, random.paretovariate(spec.runtime_tail))

    def runtime_ms(task: TaskProfile) -> int:
        return max(1, int(task.typical_ms * size * random.lognormvariate(0.0, 0.3)))

    return build_jobs(SHAPES[shape](random), runtime_ms)


def _run(spec: WorkloadSpec, jobs: tuple[WorkloadJob, ...], arrival_ms: int, random: Random) -> WorkloadRun:
    (sla,) = random.choices(spec.sla_mix, [each.weight for each in spec.sla_mix])
    (priority,) = random.choices(list(sla.priorities), list(sla.priorities.values()))
    path_ms = longest_path_ms(jobs)

    def promise(minutes: float | None) -> int | None:
        if minutes is None:
            return None
        return arrival_ms + int(minutes * MINUTE_MS) + PATHS_PROMISED * path_ms

    return WorkloadRun(
        arrival_ms,
        jobs,
        priority,
        promise(sla.soft_minutes),
        promise(sla.hard_minutes),
    )

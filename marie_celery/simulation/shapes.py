"""Shapes of generated runs, as a document pipeline has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from marie_celery.simulation.workload import WorkloadJob


@dataclass(frozen=True, slots=True)
class TaskProfile:
    name: str
    executor: str
    typical_ms: int


SPLIT = TaskProfile("split", "extract", 1_500)
READ = TaskProfile("read", "ocr", 6_000)
TABLES = TaskProfile("tables", "ocr", 15_000)
LABEL = TaskProfile("label", "classify", 1_000)
INDEX = TaskProfile("index", "classify", 3_000)
MERGE = TaskProfile("merge", "extract", 2_500)

EXECUTORS = ("extract", "ocr", "classify")

# A node is its task and the positions of its children.
Shape = list[tuple[TaskProfile, tuple[int, ...]]]
Runtime = Callable[[TaskProfile], int]


def single(random: Random) -> Shape:
    return [(random.choice((READ, TABLES, LABEL)), ())]


def chain(random: Random) -> Shape:
    return [(SPLIT, (1,)), (READ, (2,)), (LABEL, (3,)), (INDEX, ())]


def diamond(random: Random) -> Shape:
    return [(SPLIT, (1, 2)), (READ, (3,)), (TABLES, (3,)), (MERGE, ())]


def fan(random: Random) -> Shape:
    """Split, read every page, join. Most are narrow, a few are wide."""
    pages = min(60, 2 + int(random.paretovariate(1.3)))
    last = pages + 1
    return [(SPLIT, tuple(range(1, last))), *[(READ, (last,))] * pages, (LABEL, ())]


def layers(random: Random) -> Shape:
    """Three layers of a random width, each job with one or two parents in the layer before."""
    rows: list[list[int]] = []
    nodes = 0
    for _ in range(3):
        width = random.randint(1, 4)
        rows.append(list(range(nodes, nodes + width)))
        nodes += width
    children: list[set[int]] = [set() for _ in range(nodes)]
    for above, below in pairwise(rows):
        for node in below:
            for parent in random.sample(above, min(len(above), random.randint(1, 2))):
                children[parent].add(node)
    tasks = [random.choice((SPLIT, READ, TABLES, LABEL, INDEX)) for _ in range(nodes)]
    return [(task, tuple(sorted(behind))) for task, behind in zip(tasks, children, strict=True)]


SHAPES: dict[str, Callable[[Random], Shape]] = {
    "single": single,
    "chain": chain,
    "diamond": diamond,
    "fan": fan,
    "layers": layers,
}


def build_jobs(shape: Shape, runtime: Runtime) -> tuple[WorkloadJob, ...]:
    return tuple(WorkloadJob(task.name, task.executor, runtime(task), behind) for task, behind in shape)

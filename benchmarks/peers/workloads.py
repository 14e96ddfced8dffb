"""What is run, how large, and what must come out of it."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.peers.apps.work import join, step


@dataclass(frozen=True)
class Workload:
    name: str
    text: str
    sizes: tuple[int, ...]
    warm_up: tuple[int, ...]
    """Small sizes, for workers that have done nothing yet."""

    @property
    def jobs(self) -> int:
        if self.name == "layered":
            layers, width = self.sizes
            return layers * (width + 1)
        (size,) = self.sizes
        return size + (self.name == "chord")

    def figure(self, seconds: float) -> float:
        """Milliseconds per hop for the chain, jobs a second for the others."""
        return seconds * 1000 / self.jobs if self.name == "chain" else self.jobs / seconds

    @property
    def unit(self) -> str:
        return "ms per hop" if self.name == "chain" else "jobs/s"


FLOOD = Workload("flood", "2 000 jobs that know nothing of each other, all results read", (2_000,), (50,))
CHAIN = Workload("chain", "200 jobs, each with the result of the one before", (200,), (10,))
CHORD = Workload("chord", "1 000 jobs and one that gets all their results", (1_000,), (20,))
LAYERED = Workload("layered", "10 times: 100 jobs, and one that joins them for the next 100", (10, 100), (2, 10))

WORKLOADS = {workload.name: workload for workload in (FLOOD, CHAIN, CHORD, LAYERED)}


def expected(workload: str, sizes: tuple[int, ...]) -> int:
    """What a client has to answer."""
    if workload == "chain":
        x = 0
        for _ in range(sizes[0]):
            x = step(x)
        return x
    layers, width = sizes if workload == "layered" else (1, sizes[0])
    x = 0
    for _ in range(layers):
        x = join([step(x, number) for number in range(width)])
    return x

"""Dask distributed: one graph per workload, sent as it is, so that no steps are fused into one."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import work
from dask import delayed
from distributed import Client


class Graphs:
    def __init__(self) -> None:
        self.client = Client(f"tcp://127.0.0.1:{os.environ['PEER_PORT']}")
        # Without this a client is answered before there is anybody to do the work.
        self.client.wait_for_workers(2)
        self.step = delayed(work.step, pure=False)
        self.join = delayed(work.join, pure=False)

    def flood(self, count: int) -> list[int]:
        return self.client.gather(self.client.map(work.step, [0] * count, range(count), pure=False))

    def chain(self, length: int) -> int:
        x: Any = 0
        for _ in range(length):
            x = self.step(x, 0)
        return self.value(x)

    def chord(self, width: int) -> int:
        return self.value(self.join([self.step(0, number) for number in range(width)]))

    def layered(self, layers: int, width: int) -> int:
        x: Any = 0
        for _ in range(layers):
            x = self.join([self.step(x, number) for number in range(width)])
        return self.value(x)

    def value(self, graph: Any) -> int:
        return int(self.client.compute(graph, optimize_graph=False).result())


def workloads() -> dict[str, Callable[..., Any]]:
    graphs = Graphs()
    return {"flood": graphs.flood, "chain": graphs.chain, "chord": graphs.chord, "layered": graphs.layered}

"""Graphs of nodes by number: children, levels, cycles. Linear in nodes and edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """What the engine needs to know of a graph's shape."""

    children: list[list[int]]
    levels: list[int]
    order: list[int]
    """A topological order; shorter than the graph if there is a cycle."""

    @property
    def acyclic(self) -> bool:
        return len(self.order) == len(self.levels)


def lay_out(parents: Sequence[Sequence[int]]) -> Layout:
    """`parents[n]` are the numbers of the nodes that node n waits for."""
    size = len(parents)
    children: list[list[int]] = [[] for _ in range(size)]
    waiting = [0] * size
    for node, sources in enumerate(parents):
        waiting[node] = len(sources)
        for source in sources:
            children[source].append(node)
    levels = [0] * size
    order = [node for node in range(size) if not waiting[node]]
    for node in order:  # grows while we walk it
        below = levels[node] + 1
        for child in children[node]:
            if levels[child] < below:
                levels[child] = below
            waiting[child] -= 1
            if not waiting[child]:
                order.append(child)
    return Layout(children, levels, order)


def find_cycle(parents: Sequence[Sequence[int]]) -> list[int]:
    """One cycle, in the direction of the edges, or an empty list."""
    layout = lay_out(parents)
    if layout.acyclic:
        return []
    stuck = set(range(len(parents))) - set(layout.order)
    # Every node left over has a parent that is left over too: walking up must come back.
    path: list[int] = []
    seen: dict[int, int] = {}
    node = min(stuck)
    while node not in seen:
        seen[node] = len(path)
        path.append(node)
        node = next(parent for parent in parents[node] if parent in stuck)
    return path[seen[node] :][::-1]

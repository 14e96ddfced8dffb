"""The longest way to the end of a run, by estimated runtimes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from graphlib import TopologicalSorter
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def remaining_paths(
    children: Mapping[Node, Sequence[Node]], seconds: Callable[[Node], float | None]
) -> dict[Node, float | None]:
    """For every node, its runtime and that of the longest path behind it.

    Unknown runtimes count as nothing, so a path is a lower bound; it is None if all of it is unknown.
    """
    # To the sorter children are what comes before, so it lists them first.
    nodes = list(TopologicalSorter(children).static_order())
    number = {node: place for place, node in enumerate(nodes)}
    behind = [[number[child] for child in children.get(node, ())] for node in nodes]
    paths = paths_by_number(behind, [seconds(node) for node in nodes], range(len(nodes))[::-1])
    return dict(zip(nodes, paths, strict=True))


def paths_by_number(
    children: Sequence[Sequence[int]], seconds: Sequence[float | None], order: Sequence[int]
) -> list[float | None]:
    """The same for nodes that are numbers, with an order in which parents come first."""
    paths: list[float | None] = [None] * len(seconds)
    for node in reversed(order):
        own, longest = seconds[node], None
        for child in children[node]:
            path = paths[child]
            if path is not None and (longest is None or path > longest):
                longest = path
        if own is not None or longest is not None:
            paths[node] = (own or 0.0) + (longest or 0.0)
    return paths

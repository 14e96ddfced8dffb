"""The longest way to the end of a run, by estimated runtimes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from graphlib import TopologicalSorter
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def remaining_paths(
    children: Mapping[Node, Sequence[Node]],
    seconds: Callable[[Node], float | None],
    order: Sequence[Node] | None = None,
) -> dict[Node, float | None]:
    """For every node, its runtime and that of the longest path behind it. `order`: parents first, if known.

    Unknown runtimes count as nothing, so a path is a lower bound; it is None if all of it is unknown.
    """
    paths: dict[Node, float | None] = {}
    # To the sorter children are what comes before, so it lists them first; either way they have their paths already.
    for node in TopologicalSorter(children).static_order() if order is None else reversed(order):
        behind = [path for child in children.get(node, ()) if (path := paths[child]) is not None]
        own = seconds(node)
        paths[node] = None if own is None and not behind else (own or 0.0) + max(behind, default=0.0)
    return paths

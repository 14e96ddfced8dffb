"""A graph that passed every check, in the order in which its nodes start."""

from __future__ import annotations

import graphlib
import itertools
from dataclasses import dataclass

from marie_celery.flow.errors import GraphError
from marie_celery.flow.node import Node
from marie_celery.flow.problems import Code, Problem
from marie_celery.flow.subgraph import Subgraph
from marie_celery.flow.survey import Endpoint, PlannedEdge, Survey, survey


@dataclass(frozen=True, slots=True)
class Plan:
    """`nodes` is in topological order, producers first."""

    nodes: dict[str, Node]
    edges: tuple[PlannedEdge, ...]
    exposed_inputs: dict[tuple[str, str], Endpoint]


def examine(root: Subgraph) -> tuple[Survey, list[str]]:
    """The survey with all problems, and the node names in topological order."""
    result = survey(root)
    order, cycles = _order(result)
    for cycle in cycles:
        text = "every edge on this way round blocks; give one of them another policy"
        result.problems.append(Problem(Code.BLOCK_CYCLE, " -> ".join(cycle), text))
    return result, order


def make_plan(root: Subgraph) -> Plan:
    result, order = examine(root)
    if result.problems:
        raise GraphError(result.problems)
    nodes = {name: result.nodes[name] for name in order}
    return Plan(nodes, tuple(result.edges.values()), result.exposed_inputs)


def _order(result: Survey) -> tuple[list[str], list[list[str]]]:
    """Topological order and the cycles that can deadlock.

    A cycle of block edges can fill up and stand still for ever. One with an edge that never blocks cannot;
    for the order that edge is left out.
    """
    feeds: dict[tuple[str, str], bool] = {}
    for edge in result.edges.values():
        if edge.source.node in result.nodes and edge.target.node in result.nodes:
            pair = (edge.source.node, edge.target.node)
            feeds[pair] = feeds.get(pair, False) or edge.wire.policy.name == "block"
    deadlocks: list[list[str]] = []
    while True:
        sorter: graphlib.TopologicalSorter[str] = graphlib.TopologicalSorter()
        for name in result.nodes:
            sorter.add(name)
        for source, target in feeds:
            sorter.add(target, source)
        try:
            return list(sorter.static_order()), deadlocks
        except graphlib.CycleError as error:
            cycle: list[str] = error.args[1]
            pairs = list(itertools.pairwise(cycle))
            yielding = [pair for pair in pairs if not feeds[pair]]
            if not yielding:
                deadlocks.append(cycle)
            del feeds[(yielding or pairs)[-1]]

"""From a plan to the objects that run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from marie_celery.flow.bands import CONTROL_RANK, rank_of
from marie_celery.flow.plan import Plan
from marie_celery.flow.state import Link, NodeState
from marie_celery.flow.survey import OUTSIDE


@dataclass(frozen=True, slots=True)
class Wiring:
    """`gates` are the links by which other threads reach an input; a key may also name an exposed input."""

    nodes: dict[str, NodeState]
    links: dict[str, Link]
    gates: dict[tuple[str, str], Link]


def wire(
    plan: Plan, weights: Sequence[int], capacities: Mapping[str, int], priorities: Mapping[str, int]
) -> Wiring:
    nodes = {name: NodeState(name, unit, weights) for name, unit in plan.nodes.items()}
    links: dict[str, Link] = {}
    gates: dict[tuple[str, str], Link] = {}
    for planned in plan.edges:
        source, target, spec = planned.source, planned.target, planned.wire
        edge = spec.edge(planned.id, capacities.get(planned.id, spec.capacity), spec.policy)
        priority = priorities.get(planned.id, spec.priority)
        link = links[planned.id] = Link(planned.id, edge, priority, target.port, remote=spec.remote)
        if source.node == OUTSIDE:
            gates[target.node, target.port] = link
            link.contract = target.contract
        elif source.node in nodes:
            link.source = nodes[source.node]
            link.source.outputs[source.port][1].append(link)
            if source.contract and target.contract and not source.contract.fits(target.contract):
                link.contract = target.contract
        if target.node in nodes:
            _aim(link, nodes[target.node])
            if link.remote:
                # Nobody here saw what the other process emitted, so it is checked on arrival.
                link.contract = target.contract
    for exposed, end in plan.exposed_inputs.items():
        gates[exposed] = gates[end.node, end.port]
    return Wiring(nodes, links, gates)


def _aim(link: Link, target: NodeState) -> None:
    link.target = target
    link.control.strand = target.control
    link.data.rank = rank_of(link.priority)
    link.data.strand = target.control if link.data.rank == CONTROL_RANK else target.data

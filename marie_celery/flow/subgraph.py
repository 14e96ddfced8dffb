"""Graphs as parts of graphs. A subgraph only describes; the plan checks and flattens it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from marie_celery.flow.edge import DEFAULT_CAPACITY, EdgeFactory
from marie_celery.flow.memory import MemoryEdge
from marie_celery.flow.node import Node
from marie_celery.flow.policy import BLOCK, Policy

Unit = TypeVar("Unit", bound="Node | Subgraph")


@dataclass(frozen=True, slots=True)
class Wire:
    """One `connect`, as it was written: names relative to the subgraph it belongs to."""

    source: str
    target: str
    capacity: int
    policy: Policy
    priority: int
    edge: EdgeFactory
    remote: bool


class Subgraph:
    """Nodes and subgraphs under one name, joined by edges; inner ports are reachable once exposed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._units: list[Node | Subgraph] = []
        self._wires: list[Wire] = []
        self._exposed_inputs: list[tuple[str, str]] = []
        self._exposed_outputs: list[tuple[str, str]] = []

    def add(self, unit: Unit) -> Unit:
        if not isinstance(unit, Node | Subgraph):
            raise TypeError(f"a Node or a Subgraph is needed, not {unit!r}")
        self._units.append(unit)
        return unit

    def connect(
        self,
        source: str,
        target: str,
        *,
        capacity: int = DEFAULT_CAPACITY,
        policy: Policy = BLOCK,
        priority: int = 0,
        edge: EdgeFactory = MemoryEdge,
        remote: bool = False,
    ) -> None:
        """Joins `unit:port` to `unit:port`. The edge's id will be `source->target` with full names.

        `remote=True` says that one of the ends lives in another process; `edge` then makes an edge that
        reaches there.
        """
        self.attach(Wire(source, target, capacity, policy, priority, edge, remote))

    def attach(self, wire: Wire) -> None:
        self._wires.append(wire)

    def expose_input(self, name: str, target: str) -> None:
        """Makes the inner input `unit:port` an input of this subgraph, under `name`."""
        self._exposed_inputs.append((name, target))

    def expose_output(self, name: str, source: str) -> None:
        self._exposed_outputs.append((name, source))

    @property
    def units(self) -> Sequence[Node | Subgraph]:
        return tuple(self._units)

    @property
    def wires(self) -> Sequence[Wire]:
        return tuple(self._wires)

    @property
    def exposed_inputs(self) -> Sequence[tuple[str, str]]:
        return tuple(self._exposed_inputs)

    @property
    def exposed_outputs(self) -> Sequence[tuple[str, str]]:
        return tuple(self._exposed_outputs)

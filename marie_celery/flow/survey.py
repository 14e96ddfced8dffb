"""From a nested description to a flat list of nodes and edges, with everything that is wrong with it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from marie_celery.flow.bands import check_priority
from marie_celery.flow.edge import DEFAULT_CAPACITY, check_capacity
from marie_celery.flow.errors import BadSetting
from marie_celery.flow.memory import LockedEdge
from marie_celery.flow.node import Node
from marie_celery.flow.policy import BLOCK, Policy
from marie_celery.flow.port import Port
from marie_celery.flow.problems import Code, Problem
from marie_celery.flow.subgraph import Subgraph, Wire

OUTSIDE = "outside"
"""Stands for other threads as the source of an edge; no unit at the top may have this name."""

Direction = Literal["input", "output"]
_NAME = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`port` of a node by its full name; `contract` is None for an end that is not in this process."""

    node: str
    port: str
    contract: Port | None = None

    def __str__(self) -> str:
        return f"{self.node}:{self.port}"


@dataclass(frozen=True, slots=True)
class PlannedEdge:
    source: Endpoint
    target: Endpoint
    wire: Wire

    @property
    def id(self) -> str:
        return f"{self.source}->{self.target}"


@dataclass(slots=True)
class Survey:
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: dict[str, PlannedEdge] = field(default_factory=dict)
    exposed_inputs: dict[tuple[str, str], Endpoint] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def inlet(target: str, capacity: int, policy: Policy, priority: int) -> Wire:
    """The wire by which other threads reach `target`."""
    return Wire(OUTSIDE, target, capacity, policy, priority, LockedEdge, remote=False)


def survey(root: Subgraph) -> Survey:
    surveyor = _Surveyor()
    surveyor.visit(root, "")
    surveyor.open_all_inputs()
    if not surveyor.result.nodes and not surveyor.result.problems:
        surveyor.note(Code.EMPTY_GRAPH, "the graph", "there is no node in it")
    return surveyor.result


class _Surveyor:
    def __init__(self) -> None:
        self.result = Survey()
        self._seen: dict[int, str] = {}
        self._exposed: dict[tuple[int, Direction, str], Endpoint | None] = {}

    def note(self, code: Code, where: str, text: str) -> None:
        self.result.problems.append(Problem(code, where, text))

    def visit(self, graph: Subgraph, prefix: str) -> None:
        self._seen[id(graph)] = prefix or "the top"
        local: dict[str, Node | Subgraph] = {}
        for unit in graph.units:
            where = prefix + str(unit.name)
            if not isinstance(unit.name, str) or not _NAME.fullmatch(unit.name):
                self.note(Code.BAD_NAME, where, "a name is made of letters, digits, '_', '.' and '-'")
            elif unit.name == OUTSIDE and not prefix:
                self.note(Code.BAD_NAME, where, f"'{OUTSIDE}' stands for other threads")
            elif unit.name in local:
                self.note(Code.DUPLICATE_NAME, where, "another unit beside it has this name")
            elif id(unit) in self._seen:
                self.note(Code.UNIT_USED_TWICE, where, f"already used as {self._seen[id(unit)]}")
            else:
                local[unit.name] = unit
                self._seen[id(unit)] = where
                if isinstance(unit, Subgraph):
                    self.visit(unit, where + "/")
                else:
                    self._add_node(unit, where)
        self._expose(graph, prefix, local, "input", graph.exposed_inputs)
        self._expose(graph, prefix, local, "output", graph.exposed_outputs)
        for wire in graph.wires:
            self._add_edge(wire, prefix, local)

    def open_all_inputs(self) -> None:
        """Every input can be reached by inject, also the ones for which nobody declared how."""
        for name, node in self.result.nodes.items():
            for port in node.inputs:
                edge = PlannedEdge(
                    Endpoint(OUTSIDE, port.name),
                    Endpoint(name, port.name, port),
                    inlet(f"{name}:{port.name}", DEFAULT_CAPACITY, BLOCK, 0),
                )
                self.result.edges.setdefault(edge.id, edge)

    def _add_node(self, node: Node, where: str) -> None:
        self.result.nodes[where] = node
        for direction, ports in (("input", node.inputs), ("output", node.outputs)):
            self._check_repeats(where, direction, (port.name for port in ports))
            for port in ports:
                if not _NAME.fullmatch(port.name):
                    text = "a port's name is made of letters, digits, '_', '.' and '-'"
                    self.note(Code.BAD_NAME, f"{where}:{port.name}", text)
        interval = node.tick_interval_ms
        if interval is not None and not interval > 0:
            self.note(Code.BAD_TICK_INTERVAL, where, f"tick_interval_ms must be above 0, not {interval!r}")
        if node.priority_override is not None:
            self._check(Code.BAD_PRIORITY, check_priority, where, node.priority_override)

    def _check_repeats(self, where: str, direction: str, names: Iterable[str]) -> None:
        for name, times in Counter(names).items():
            if times > 1:
                self.note(Code.DUPLICATE_PORT, f"{where}:{name}", f"declared {times} times as {direction}")

    def _check(self, code: Code, check: Callable[[str, object], None], where: str, value: object) -> None:
        try:
            check(where, value)
        except BadSetting as error:
            self.note(code, where, str(error))

    def _expose(
        self,
        graph: Subgraph,
        prefix: str,
        local: dict[str, Node | Subgraph],
        direction: Direction,
        exposed: Sequence[tuple[str, str]],
    ) -> None:
        self._check_repeats(prefix.rstrip("/"), f"exposed {direction}", (name for name, _ in exposed))
        for name, inner in exposed:
            end = self._resolve(inner, prefix, local, direction)
            self._exposed[id(graph), direction, name] = end
            if end is not None and direction == "input":
                self.result.exposed_inputs[prefix.rstrip("/"), name] = end

    def _add_edge(self, wire: Wire, prefix: str, local: dict[str, Node | Subgraph]) -> None:
        target = self._resolve(wire.target, prefix, local, "input", wire.remote)
        if wire.source == OUTSIDE:
            source = target and Endpoint(OUTSIDE, target.port)
        else:
            source = self._resolve(wire.source, prefix, local, "output", wire.remote)
        if source is None or target is None:
            return
        edge = PlannedEdge(source, target, wire)
        if edge.id in self.result.edges:
            self.note(Code.DUPLICATE_EDGE, edge.id, "these two ports are joined already")
            return
        if not isinstance(wire.policy, Policy):
            self.note(Code.BAD_POLICY, edge.id, f"{wire.policy!r} is not a policy")
            return
        self.result.edges[edge.id] = edge
        if wire.remote and source.contract is None and target.contract is None:
            self.note(Code.UNKNOWN_UNIT, edge.id, "neither end of this remote edge is in this process")
        self._check(Code.BAD_CAPACITY, check_capacity, edge.id, wire.capacity)
        self._check(Code.BAD_PRIORITY, check_priority, edge.id, wire.priority)
        sends, takes = source.contract, target.contract
        if sends is not None and takes is not None and not sends.is_open and not sends.fits(takes):
            text = f"{source} sends {sends.type_name}, {target} takes {takes.type_name}"
            self.note(Code.TYPE_MISMATCH, edge.id, text)

    def _resolve(
        self,
        reference: str,
        prefix: str,
        local: dict[str, Node | Subgraph],
        direction: Direction,
        may_be_remote: bool = False,
    ) -> Endpoint | None:
        """Follows `unit:port` through exposed ports down to a node. None: a problem was noted."""
        name, colon, port_name = reference.partition(":")
        where = prefix + reference
        if not (name and colon and port_name):
            self.note(Code.BAD_ENDPOINT, where, "an end of an edge is written 'unit:port'")
            return None
        unit = local.get(name)
        if unit is None:
            if may_be_remote:
                return Endpoint(prefix + name, port_name)
            self.note(Code.UNKNOWN_UNIT, where, f"there is no unit '{name}' here")
            return None
        if isinstance(unit, Subgraph):
            key = (id(unit), direction, port_name)
            if key in self._exposed:
                return self._exposed[key]
        else:
            ports = unit.inputs if direction == "input" else unit.outputs
            for port in ports:
                if port.name == port_name:
                    return Endpoint(prefix + name, port_name, port)
        self.note(Code.UNKNOWN_PORT, where, f"'{name}' has no {direction} of this name")
        return None

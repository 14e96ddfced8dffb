"""From the nodes of a graph to jobs. A run is a graph, and so is what a map of a dag makes for each item."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from marie_celery.authoring.behind import add_what_is_behind
from marie_celery.authoring.control_fields import pieces_of
from marie_celery.authoring.instances import graph_text
from marie_celery.authoring.job_fields import JobFields, is_seconds
from marie_celery.authoring.nodes import GatherNode, MapNode, Node
from marie_celery.authoring.payload import dumps
from marie_celery.authoring.reference import Ref
from marie_celery.authoring.wiring import Wired, Wiring
from marie_celery.model import ranges
from marie_celery.model.control import Role
from marie_celery.model.graph import Layout, find_cycle, lay_out
from marie_celery.planning.critical_path import paths_by_number
from marie_celery.planning.job import whole_ms
from marie_celery.store.records import NewJob

if TYPE_CHECKING:
    from marie_celery.authoring.builder import Builder
    from marie_celery.authoring.compile import Surroundings


class Graph:
    def __init__(
        self, builder: Builder, around: Surroundings, job_fields: JobFields, problems: list[str], gate_every: Any = None
    ) -> None:
        self._builder = builder
        self.first = builder.first
        self._nodes = builder.nodes
        self._around = around
        self._job_fields = job_fields
        self._problems = problems
        self._gate_every = gate_every
        self._inner = {
            node.number: Graph(node.inner, around, job_fields, problems)
            for node in builder.nodes
            if isinstance(node, MapNode) and node.inner is not None
        }
        wiring = Wiring(builder, problems)
        self._wired: list[Wired] = []
        for node in self._nodes:
            self._wired.append(wiring.wire(node, self._more_parents(node)))
        self.outside = wiring.outside
        """References to nodes that are not of this graph: it may only begin when they are there."""
        self._parents = [each.parents for each in self._wired]
        if builder.first:
            self._parents = [[number - builder.first for number in parents] for parents in self._parents]
        self._layout = self._lay_out()
        gated = any(node.gate is not None for node in self._nodes)
        self._children = lay_out(self._parents).children if gated else self._layout.children

    def jobs(self) -> list[NewJob]:
        paths = self._paths()
        jobs, all_fields = [], []
        for place, (node, wired) in enumerate(zip(self._nodes, self._wired, strict=True)):
            fields = self._fields(node)
            self._add_edges(fields, node, wired, self._children[place])
            self._add_special(fields, node)
            fields["level"] = str(self._level(place))
            path = paths[place]
            if path is not None:
                fields["path"] = path
            jobs.append(NewJob(fields, wired.inputs))
            all_fields.append(fields)
        add_what_is_behind(all_fields, self._parents, self._children)
        return jobs

    def roots(self) -> list[int]:
        """Those that may start with the run."""
        return [
            node.number
            for node, wired in zip(self._nodes, self._wired, strict=True)
            if not wired.parents and node.gate is None and not comes_last(node)
        ]

    def _more_parents(self, node: Node) -> list[Ref]:
        """Beside those that its arguments tell."""
        if isinstance(node, GatherNode):
            waited_for = {number for wired in self._wired for number in wired.parents}
            return [Ref(other) for other in self._nodes[:-1] if other.number not in waited_for]
        inner = self._inner.get(node.number)
        return [] if inner is None else inner.outside

    def _lay_out(self) -> Layout:
        """What hangs on a branch or a gate comes after it, though it is no parent whose end would count."""
        before = [
            parents if node.gate is None else [*parents, node.gate.number - self._builder.first]
            for node, parents in zip(self._nodes, self._parents, strict=True)
        ]
        layout = lay_out(before)
        if not layout.acyclic:
            names = [self._nodes[place].name for place in find_cycle(before)]
            self._problems.append("it has a cycle: " + " → ".join([*names, names[0]]))
        return layout

    def _level(self, place: int) -> int:
        levels = self._layout.levels
        return max(levels) + 1 if comes_last(self._nodes[place]) else levels[place]

    def _fields(self, node: Node) -> dict[str, str]:
        fields = self._job_fields.of(node)
        if self._builder.outer is not None and node.options.priority is None:
            # That of its run when it is made, which may not be that of now.
            del fields["priority"]
        return fields

    def _add_edges(self, fields: dict[str, str], node: Node, wired: Wired, children: Sequence[int]) -> None:
        if wired.parents:
            fields["parents"] = fields["deps"] = str(len(wired.parents))
        if children:
            first = self.first
            fields["children"] = ranges.pack([first + place for place in children] if first else children)
        if wired.refs:
            fields["refs"] = ranges.pack(wired.refs)
        if wired.lists:
            fields["lists"] = ranges.pack(wired.lists)
        if wired.optional:
            fields["optional"] = ranges.pack(wired.optional)
        if node.gate is not None:
            fields.update(gate=str(node.gate.number), shut="1")

    def _add_special(self, fields: dict[str, str], node: Node) -> None:
        if isinstance(node, GatherNode):
            fields["gives"] = dumps([["", pieces_of(node.output)]])
        elif node.number in self._inner:
            inner = self._inner[node.number]
            fields["graph"] = graph_text(inner.first, inner.jobs())
        elif node.role is not None:
            fields.update(self._gate_fields() if node.role is Role.GATE else {"final": node.role.value})

    def _gate_fields(self) -> dict[str, str]:
        every = self._gate_every
        if not is_seconds(every):
            self._problems.append(f"gate_every must be seconds above 0, not {every!r}")
            return {}
        behind = ranges.pack(node.number for node in self._nodes if node.role is None)
        return {"ask_again": str(whole_ms(every)), "paths": json.dumps([["", behind]])}

    def _paths(self) -> Sequence[str | None]:
        """The longest way to the end of the graph behind each job, by what is known of runtimes."""
        nodes, layout = self._nodes, self._layout
        calls = [(id(node.options), node.task.name) for node in nodes]
        known = {call: self._seconds(node) for call, node in dict(zip(calls, nodes, strict=True)).items()}
        if not layout.acyclic or not any(known.values()):
            return [None] * len(nodes)
        paths = paths_by_number(layout.children, [known[call] for call in calls], layout.order)
        return [None if path is None else str(whole_ms(path)) for path in paths]

    def _seconds(self, node: Node) -> float | None:
        given = node.options.estimated_runtime
        learned = self._around.estimates.get(node.task.name)
        return given if is_seconds(given) else learned.seconds if learned else None


_LAST = frozenset((Role.ON_FAILURE, Role.FINALLY))


def comes_last(node: Node) -> bool:
    return node.role in _LAST

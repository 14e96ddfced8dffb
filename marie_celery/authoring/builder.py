"""Collects the nodes of a DAG while its function runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from marie_celery.authoring.nodes import MapNode, Node
from marie_celery.authoring.reference import Ref

if TYPE_CHECKING:
    from marie_celery.authoring.options import JobOptions
    from marie_celery.authoring.task import Task

N = TypeVar("N", bound=Node)


INNER = 10_000_000
"""Numbers of nodes in a graph that a map makes for each item begin here, above those of any run; within it at twice."""


class Builder:
    def __init__(self, dag: str, outer: Builder | None = None) -> None:
        self.dag = dag
        self.outer = outer
        """The graph around this one, if it is made for the items of a map."""
        self.first: int = 0 if outer is None else (outer.first // INNER + 1) * INNER
        self.nodes: list[Node] = []
        self.problems: list[str] = []
        """What was wrong already while the function ran, and did not stop it."""
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}
        self._prefix = ""
        self._gate: Node | None = None

    def add(
        self, task: Task[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], options: JobOptions
    ) -> Ref:
        nodes = self.nodes
        node = Node(self.first + len(nodes), self._name(task, options), task, args, kwargs, options, gate=self._gate)
        nodes.append(node)
        return Ref(node)

    def make(
        self,
        kind: type[N],
        task: Task[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        options: JobOptions,
        **more: Any,
    ) -> N:
        """A node of another kind, or with more to say than `add` does for most."""
        name = self._name(task, options)
        node = kind(self.next_number, name, task, args, kwargs, options, gate=self._gate, **more)
        self.nodes.append(node)
        return node

    @property
    def next_number(self) -> int:
        return self.first + len(self.nodes)

    def all_nodes(self) -> Iterator[Node]:
        """Also those that maps will make for each item."""
        for node in self.nodes:
            yield node
            if isinstance(node, MapNode) and node.inner is not None:
                yield from node.inner.all_nodes()

    def task_names(self) -> set[str]:
        return {node.task.name for node in self.all_nodes()}

    def has(self, node: Node) -> bool:
        place = node.number - self.first
        return 0 <= place < len(self.nodes) and self.nodes[place] is node

    def can_see(self, node: Node) -> bool:
        return self.has(node) or (self.outer is not None and self.outer.can_see(node))

    @contextmanager
    def on_path(self, branch: Node) -> Iterator[None]:
        """The nodes made inside hang on the branch."""
        outer, self._gate = self._gate, branch
        try:
            yield
        finally:
            self._gate = outer

    @contextmanager
    def inside(self, dag: str) -> Iterator[None]:
        """The nodes made inside belong to a dag within this one: `invoice/read`."""
        outer, self._prefix = self._prefix, self._free(f"{self._prefix}{dag}") + "/"
        try:
            yield
        finally:
            self._prefix = outer

    def _name(self, task: Task[..., Any], options: JobOptions) -> str:
        """Given names must be unique; others are numbered: read, read-2, read-3."""
        if not options.name:
            return self._free(f"{self._prefix}{task.short_name}")
        name = f"{self._prefix}{options.name}"
        if name in self._taken:
            self.problems.append(f"two nodes are called '{name}'")
        self._taken.add(name)
        return name

    def _free(self, wanted: str) -> str:
        name = wanted
        while name in self._taken:
            self._counts[wanted] = self._counts.get(wanted, 1) + 1
            name = f"{wanted}-{self._counts[wanted]}"
        self._taken.add(name)
        return name


_current: ContextVar[Builder | None] = ContextVar("marie_builder", default=None)


def current_builder() -> Builder | None:
    return _current.get()


@contextmanager
def building(dag: str, outer: Builder | None = None) -> Iterator[Builder]:
    builder = Builder(dag, outer)
    token = _current.set(builder)
    try:
        yield builder
    finally:
        _current.reset(token)

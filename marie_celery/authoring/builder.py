"""Collects the nodes of a DAG while its function runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from marie_celery.authoring.reference import Ref

if TYPE_CHECKING:
    from marie_celery.authoring.options import JobOptions
    from marie_celery.authoring.task import Task


@dataclass(slots=True, eq=False)
class Node:
    number: int
    name: str
    task: Task[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    options: JobOptions
    after: list[Node] = field(default_factory=list)


class Builder:
    def __init__(self, dag: str) -> None:
        self.dag = dag
        self.nodes: list[Node] = []
        self.duplicate_names: list[str] = []
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}

    def add(
        self, task: Task[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], options: JobOptions
    ) -> Ref:
        node = Node(len(self.nodes), self._name(task, options), task, args, kwargs, options)
        self.nodes.append(node)
        return Ref(node)

    def _name(self, task: Task[..., Any], options: JobOptions) -> str:
        """Given names must be unique; others are numbered: read, read-2, read-3."""
        if options.name:
            if options.name in self._taken:
                self.duplicate_names.append(options.name)
            self._taken.add(options.name)
            return options.name
        name = short = task.short_name
        while name in self._taken:
            self._counts[short] = self._counts.get(short, 1) + 1
            name = f"{short}-{self._counts[short]}"
        self._taken.add(name)
        return name


_current: ContextVar[Builder | None] = ContextVar("marie_builder", default=None)


def current_builder() -> Builder | None:
    return _current.get()


@contextmanager
def building(dag: str) -> Iterator[Builder]:
    builder = Builder(dag)
    token = _current.set(builder)
    try:
        yield builder
    finally:
        _current.reset(token)

"""A DAG as a picture, before it has ever run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from marie_celery.authoring.builder import Builder, Node
from marie_celery.authoring.control import is_control
from marie_celery.authoring.reference import Ref
from marie_celery.drawing import Picture, Shape


def picture_of(builder: Builder) -> Picture:
    shapes = [
        Shape(
            label=node.name,
            note="" if is_control(node.task) else node.options.executor or "",
            kind=node.task.short_name,
        )
        for node in builder.nodes
    ]
    edges = sorted({(parent.number, node.number) for node in builder.nodes for parent in _parents(node)})
    return Picture(builder.dag, shapes, edges)


def _parents(node: Node) -> Iterator[Node]:
    yield from node.after
    for ref in _references([*node.args, *node.kwargs.values()]):
        yield ref.node


def _references(value: Any) -> Iterator[Ref]:
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _references(item)
    elif isinstance(value, dict):
        yield from _references(list(value.values()))

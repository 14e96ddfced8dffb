"""A DAG as a picture, before it has ever run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from marie_celery.authoring.builder import Builder
from marie_celery.authoring.graph import comes_last
from marie_celery.authoring.nodes import GatherNode, MapNode, Node
from marie_celery.authoring.reference import Ref
from marie_celery.drawing import Picture, Shape
from marie_celery.model.control import Control


def picture_of(builder: Builder) -> Picture:
    """Each map is one shape, whatever it will make; what comes last hangs on what nothing else waits for."""
    nodes = builder.nodes
    edges = {
        (parent.number, node.number) for node in nodes for parent in _parents(node) if builder.has(parent)
    }
    waited_for = {source for source, _ in edges}
    ends = [node for node in nodes if node.number not in waited_for and not comes_last(node)]
    edges |= {(end.number, node.number) for node in nodes if comes_last(node) for end in ends}
    return Picture(builder.dag, [_shape(node) for node in nodes], sorted(edges))


def _shape(node: Node) -> Shape:
    note = "" if node.control not in (None, Control.MAP) else node.options.executor or ""
    return Shape(node.name, f"map, {note}" if isinstance(node, MapNode) else note, kind=node.task.short_name)


def _parents(node: Node) -> Iterator[Node]:
    values = [*node.after, *node.args, *node.kwargs.values()]
    if isinstance(node, GatherNode):
        values.append(node.output)
    for ref in _references(values):
        yield ref.node
    if node.gate is not None:
        yield node.gate
    if isinstance(node, MapNode) and node.inner is not None:
        for inner in node.inner.nodes:
            yield from _parents(inner)


def _references(value: Any) -> Iterator[Ref]:
    if isinstance(value, Ref):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _references(item)
    elif isinstance(value, dict):
        yield from _references(list(value.values()))

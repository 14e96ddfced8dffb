"""Compares, before a submit, what tasks give with what the parameters take that get it."""

from __future__ import annotations

from typing import Any

from marie_celery.authoring.fitting import is_unfit, item_type, part_of, type_name
from marie_celery.authoring.nodes import Node
from marie_celery.authoring.reference import Ref
from marie_celery.authoring.types import Signature
from marie_celery.model.control import Control


class TypeCheck:
    """Most edges of a graph are like another one, so what was found of two types is kept while the graph is checked."""

    def __init__(self) -> None:
        self._unfit: dict[tuple[Signature, Control | None, tuple[str | int, ...], int, bool], bool] = {}
        self._compared: list[Any] = []
        """Types are known by their ids (not all have a hash), and an id is that of another when its owner is gone."""

    def problems(self, node: Node) -> list[str]:
        """One for each reference of this node's arguments that certainly cannot be what its parameter takes."""
        found: list[str] = []
        if not _is_plain(node):
            return found
        takers = node.task.signature_of_function.takers(len(node.args), tuple(node.kwargs))
        for place, value in enumerate((*node.args, *node.kwargs.values())):
            if isinstance(value, _HOLDERS):
                taker = takers[place]
                for ref, part in _references(value, taker.hint):
                    if self._is_unfit(ref, part, taker.adapter is not None):
                        gives = type_name(_given(ref))
                        found.append(f"{node.name}: '{taker.name}' takes {type_name(part)}, and {ref!r} gives {gives}")
        return found

    def _is_unfit(self, ref: Ref, wanted: Any, restored: bool) -> bool:
        node = ref.node
        edge = (node.task.signature_of_function, node.control, ref.path, id(wanted), restored)
        known = self._unfit.get(edge)
        if known is None:
            known = self._unfit[edge] = is_unfit(_given(ref), wanted, restored)
            self._compared.append(wanted)
        return known


def _is_plain(node: Node) -> bool:
    """Others take their arguments apart, or put results together, in ways of their own, or were not written for us."""
    return node.control is None and node.task.signature_of_function.is_checked


def _given(ref: Ref) -> Any:
    node = ref.node
    return part_of(node.task.signature_of_function.hints.get("return", Any) if _is_plain(node) else Any, ref.path)


_HOLDERS = (Ref, list, tuple, dict)


def _references(value: Any, wanted: Any) -> list[tuple[Ref, Any]]:
    """Each reference with the type of the place where it stands."""
    if isinstance(value, Ref):
        return [(value, wanted)]
    found: list[tuple[Ref, Any]] = []
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, _HOLDERS):
                found += _references(item, part_of(wanted, [key]) if isinstance(key, str) else Any)
        return found
    items = item_type(wanted)
    for place, item in enumerate(value):
        if items is not None and isinstance(item, Ref):  # a list of results: as long as a graph is wide
            found.append((item, items))
        elif isinstance(item, _HOLDERS):
            found += _references(item, part_of(wanted, [place]) if items is None else items)
    return found

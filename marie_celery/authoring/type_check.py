"""Compares, before a submit, what tasks give with what the parameters take that get it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from marie_celery.authoring.fitting import is_unfit, part_of, type_name
from marie_celery.authoring.nodes import Node
from marie_celery.authoring.payload import ArgumentEncoder
from marie_celery.authoring.reference import Ref


def type_problems(node: Node) -> Iterator[str]:
    """One for each reference of this node's arguments that certainly cannot be what its parameter takes."""
    if not _is_plain(node):
        return
    signature = node.task.signature_of_function
    encoder = ArgumentEncoder(signature)
    given: list[tuple[int | str, Any]] = [*enumerate(node.args), *node.kwargs.items()]
    for place, value in given:
        name = encoder.parameter(place)
        wanted = signature.hints.get(name, Any)
        restored = name in signature.adapters
        for ref, part in _references(value, wanted):
            gives = part_of(_result_of(ref.node), ref.path)
            if is_unfit(gives, part, restored):
                yield f"{node.name}: '{name}' takes {type_name(part)}, and {ref!r} gives {type_name(gives)}"


def _is_plain(node: Node) -> bool:
    """Others take their arguments apart, or put results together, in ways of their own, or were not written for us."""
    return type(node) is Node and node.control is None and node.task.signature_of_function.is_checked


def _result_of(node: Node) -> Any:
    return node.task.signature_of_function.hints.get("return", Any) if _is_plain(node) else Any


def _references(value: Any, wanted: Any) -> Iterator[tuple[Ref, Any]]:
    """Each reference with the type of the place where it stands."""
    if isinstance(value, Ref):
        yield value, wanted
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            yield from _references(item, part_of(wanted, [place]))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _references(item, part_of(wanted, [key]) if isinstance(key, str) else Any)

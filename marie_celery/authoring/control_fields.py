"""What the scripts need to know of control jobs: what decides a branch, which jobs are on its paths, what they give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from marie_celery.authoring.nodes import BranchNode, MapNode, Node, PickNode
from marie_celery.authoring.payload import LITERAL, PATH, REF, describe, dumps, encode_value
from marie_celery.config import Settings
from marie_celery.model import ranges


def control_fields(node: Node, settings: Settings, problems: list[str]) -> dict[str, str]:
    assert node.control is not None
    fields = {"control": node.control.value}
    match node:
        case MapNode():
            fields.update(_map_fields(node, settings, problems))
        case BranchNode():
            if settings.encrypt:
                problems.append(f"{node.name}: a branch cannot look into encrypted results; decide in a task")
            (value,) = node.args
            fields["on"] = dumps([value.node.number, *value.path])
            fields["paths"] = dumps([[name, ranges.pack(numbers)] for name, numbers in node.paths.items()])
        case PickNode():
            assert node.branch is not None
            fields["branch"] = str(node.branch.number)
            fields["gives"] = dumps([[name, pieces_of(value)] for name, value in node.kwargs.items()])
    return fields


def _map_fields(node: MapNode, settings: Settings, problems: list[str]) -> dict[str, str]:
    lengths = [len(given) for given in node.args if isinstance(given, list | tuple)]
    if lengths and max(lengths) > settings.max_map_length:
        problems.append(f"{node.name}: the list has {max(lengths)} items, max_map_length is {settings.max_map_length}")
    if node.batch is None:
        return {}
    if not isinstance(node.batch, int) or isinstance(node.batch, bool) or node.batch < 1:
        problems.append(f"{node.name}: batch must be a whole number above 0, not {node.batch!r}")
    return {"batch": str(node.batch)}


def pieces_of(value: Any) -> list[str | list[str | int]]:
    """JSON with results in it, as pieces: text as it stands, and `[number, part …]` where a result has to go.

    A script puts results together without reading them, so that they stay exactly as the workers wrote them.
    """
    pieces: list[str | list[str | int]] = []
    for piece in _walk(encode_value(value, "what a path returns", describe)):
        if isinstance(piece, str) and pieces and isinstance(pieces[-1], str):
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces


def _walk(value: Any) -> Iterator[str | list[str | int]]:
    if isinstance(value, list):
        yield "["
        for place, item in enumerate(value):
            yield "," if place else ""
            yield from _walk(item)
        yield "]"
    elif isinstance(value, dict) and REF in value:
        yield [value[REF], *value.get(PATH, ())]
    elif isinstance(value, dict):
        yield "{"
        for place, (key, item) in enumerate(value.get(LITERAL, value).items()):
            yield f"{',' if place else ''}{dumps(key)}:"
            yield from _walk(item)
        yield "}"
    else:
        yield dumps(value)

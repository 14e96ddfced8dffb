"""Maps: from lists and the arguments that all items share to the inputs of each item's job."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from marie_celery.authoring.payload import ArgumentEncoder, decode_value, describe, dumps, encode_value
from marie_celery.authoring.reference import Ref
from marie_celery.authoring.types import Signature
from marie_celery.errors import MapError, PayloadError
from marie_celery.store.expanding import MapItem


class MapEncoder(ArgumentEncoder):
    """Encodes the arguments of a map: positional ones are lists, or references to lists."""

    def __init__(self, signature: Signature) -> None:
        super().__init__(signature)
        self.lists: list[Ref] = []
        """References that have to be known to tell the items."""

    def encode(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        if not args:
            raise PayloadError("map() needs a list, or a reference to one, to take items from")
        takers = self._signature.names_of_takers(len(args), tuple(kwargs))
        lists = list(map(self._list, args, takers))
        known = {len(given) for given in args if not isinstance(given, Ref)}
        if len(known) > 1:
            raise PayloadError(f"map() takes lists of the same length, not of {_lengths(known)}")
        self.lists, self.references = self.references, []
        named = self.named(kwargs, [self._signature.parameter(taker) for taker in takers[len(args) :]])
        return f"[{','.join(lists)}]\n{named}"

    def _list(self, given: Any, taker: str) -> str:
        if isinstance(given, Ref):
            self.references.append(given)
            return dumps(describe(given))
        if not isinstance(given, list | tuple):
            raise PayloadError(f"map() takes lists or references to lists, not {given!r}")
        if not given:
            return "[]"
        parameter = self._signature.parameter(taker)
        return f"[{','.join([self.text(item, parameter) for item in given])}]"


def items_of(inputs: str, result_of: Callable[[int], Any], batch: int | None, most: int) -> list[MapItem]:
    """The jobs of a map whose lists are known. A batch gets a list of calls instead of one call's arguments."""
    same = inputs.partition("\n")[2]
    calls = [
        [encode_value(value, "an item", _no_reference) for value in values]
        for values in values_of(inputs, result_of, most)
    ]
    if batch is None:
        return [MapItem(f"[{place}]", f"{dumps(call)}\n{same}") for place, call in enumerate(calls)]
    return [
        MapItem(f"[{first}-{first + len(part) - 1}]", f"{dumps(part)}\n{same}", len(part))
        for first, part in ((first, calls[first : first + batch]) for first in range(0, len(calls), batch))
    ]


def values_of(inputs: str, result_of: Callable[[int], Any], most: int) -> list[tuple[Any, ...]]:
    """What is taken together from the lists of a map, item by item."""
    lists = decode_value(json.loads(inputs.partition("\n")[0]), result_of)
    for place, found in enumerate(lists):
        if not isinstance(found, list):
            which = f"argument {place + 1} of the map" if len(lists) > 1 else "what the map takes its items from"
            raise MapError(f"{which} is not a list but {type(found).__name__}")
    lengths = {len(found) for found in lists}
    if len(lengths) > 1:
        raise MapError(f"a map takes lists of the same length, not of {_lengths(lengths)}")
    (length,) = lengths
    if length > most:
        raise MapError(f"the list has {length} items, and max_map_length is {most}")
    return list(zip(*lists, strict=True))


def _lengths(lengths: set[int]) -> str:
    return " and ".join(map(str, sorted(lengths)))


def _no_reference(ref: Ref) -> Any:
    raise AssertionError(f"{ref!r} in a result")

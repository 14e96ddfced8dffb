"""Arguments and results as JSON, with references in their place.

A reference is `{"$ref": 3}` (the result of job number 3) or `{"$ref": 3, "path": ["total"]}`. A user's own
dict that happens to have such a key is wrapped as `{"$literal": {…}}`. The text is plain ASCII, so it can be
cut anywhere for display.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from marie_celery.authoring.reference import Ref
from marie_celery.authoring.types import Parameter, Signature
from marie_celery.errors import PayloadError

REF = "$ref"
PATH = "path"
LITERAL = "$literal"

dumps = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


class ArgumentEncoder:
    """Encodes the arguments of one node and notes which results it refers to."""

    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self.references: list[Ref] = []

    def encode(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """Two lines of JSON: the positional arguments, the named ones."""
        takers = self._signature.takers(len(args), tuple(kwargs))
        positional = ",".join(map(self.text, args, takers))
        return f"[{positional}]\n{self.named(kwargs, takers[len(args) :]) if kwargs else '{}'}"

    def named(self, kwargs: Mapping[str, Any], takers: Sequence[Parameter]) -> str:
        texts = map(self.text, kwargs.values(), takers)
        return f"{{{','.join([f'{dumps(name)}:{text}' for name, text in zip(kwargs, texts, strict=True)])}}}"

    def text(self, value: Any, taker: Parameter) -> str:
        """The JSON of one argument.

        What most arguments are is written at once; all else is copied first, by rules that say the same of these.
        """
        if taker.adapter is not None:
            return dumps(self._restorable(value, taker.where, taker.adapter))
        kind = type(value)
        if kind is str:
            return dumps(value)
        if kind is int:
            return str(value)
        if kind is Ref:
            self.references.append(value)
            return dumps(describe(value)) if value.path else f'{{"{REF}":{value.node.number}}}'
        if kind is list:
            return f"[{','.join([self.text(item, taker) for item in value])}]"
        return dumps(encode_value(value, taker.where, self._reference))

    def _restorable(self, value: Any, where: str, adapter: TypeAdapter[Any]) -> Any:
        """From what an annotation brings back as it was."""
        before = len(self.references)
        plain = encode_value(value, where, self._reference, lenient=True)
        if len(self.references) > before:
            return plain
        return encode_value(_dump(adapter, value, where), where, self._reference)

    def _reference(self, ref: Ref) -> Any:
        self.references.append(ref)
        return describe(ref)


def describe(ref: Ref) -> dict[str, Any]:
    return {REF: ref.node.number, PATH: list(ref.path)} if ref.path else {REF: ref.node.number}


def encode_result(value: Any, signature: Signature) -> str:
    adapter = signature.result_adapter
    if adapter is not None:
        value = _dump(adapter, value, "the result")
    elif isinstance(value, BaseModel) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        value = _dump(TypeAdapter(type(value)), value, "the result")
    try:
        return str(value) if type(value) is int else dumps(value)
    except (TypeError, ValueError) as error:
        raise PayloadError(f"the result cannot be carried as JSON: {error}") from None


def encode_value(value: Any, where: str, reference: Callable[[Ref], Any], lenient: bool = False) -> Any:
    """JSON-ready copy of `value`. With `lenient`, other types pass: an annotation brings them back."""
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Ref):
        return reference(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise PayloadError(f"{where} is {value}, which JSON cannot carry")
        return value
    if isinstance(value, (list, tuple)):
        return [encode_value(item, where, reference, lenient) for item in value]
    if isinstance(value, dict):
        for key in () if lenient else value:
            if not isinstance(key, str):
                raise PayloadError(f"{where} has the key {key!r}; JSON has only text as keys")
        encoded = {key: encode_value(item, where, reference, lenient) for key, item in value.items()}
        return {LITERAL: encoded} if REF in value or LITERAL in value else encoded
    if lenient:
        return _jsonable(value, where)
    raise PayloadError(
        f"{where} is of type {type(value).__name__}, which JSON cannot carry; annotate the parameter "
        "with a type that pydantic knows, or pass something simpler"
    )


_scan = json.JSONDecoder().raw_decode


def _loads(text: str) -> Any:
    """Of a text that we have written: nothing stands before the value or behind it."""
    return _scan(text)[0]


def decode_value(value: Any, result_of: Callable[[int], Any]) -> Any:
    """The value again, with the results that it refers to."""
    if isinstance(value, list):
        return [decode_value(item, result_of) for item in value]
    if not isinstance(value, dict):
        return value
    if REF in value:
        found = result_of(value[REF])
        if found is None:
            return None
        for part in value.get(PATH, ()):
            found = found[part]
        return found
    if LITERAL in value:
        value = value[LITERAL]
    return {key: decode_value(item, result_of) for key, item in value.items()}


def decode_arguments(text: str, result_of: Callable[[int], Any]) -> tuple[list[Any], dict[str, Any]]:
    positional, _, named = text.partition("\n")
    return (
        decode_value(_loads(positional), result_of),
        decode_value(_loads(named), result_of) if named != "{}" else {},
    )


def _dump(adapter: TypeAdapter[Any], value: Any, where: str) -> Any:
    try:
        return adapter.dump_python(adapter.validate_python(value), mode="json")
    except ValueError as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else {"msg": str(error), "loc": ()}
        place = ".".join(str(part) for part in first["loc"])
        text = f"{where}{f' ({place})' if place else ''} does not fit its annotation: {first['msg']}"
        raise PayloadError(text) from None


def _jsonable(value: Any, where: str) -> Any:
    if _holds_reference(value):
        kind = type(value).__name__
        raise PayloadError(f"{where} has a reference inside a {kind}; pass it in a list or a dict")
    try:
        return to_jsonable_python(value, inf_nan_mode="constants")
    except ValueError as error:
        raise PayloadError(f"{where} cannot be carried as JSON: {error}") from None


def _holds_reference(value: Any) -> bool:
    inside = value if isinstance(value, (set, frozenset)) else getattr(value, "__dict__", {}).values()
    return Ref in map(type, inside)

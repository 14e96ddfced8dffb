"""Does what one task gives fit what another takes? Only a certain No counts: whatever cannot be known passes.

Values travel as JSON, so types are compared by what JSON makes of them: a tuple may go where a list is wanted, a
datetime where text is. What pydantic restores may come from a little more than it gives (digits for a number).
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NewType, TypeVar, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from pydantic import BaseModel, RootModel
from typing_extensions import is_typeddict

from marie_celery.authoring.typed_dicts import fields_of

# bool is a number in Python, and any number has a truth.
_NUMBER, _TEXT, _NOTHING, _ARRAY, _OBJECT = "number", "text", "nothing", "array", "object"

_KINDS: dict[Any, str] = {
    **dict.fromkeys((bool, int, float), _NUMBER),
    **dict.fromkeys((str, bytes, datetime, date, time, timedelta, Decimal, UUID), _TEXT),
    **dict.fromkeys((None, NoneType), _NOTHING),
    **dict.fromkeys((list, tuple, set, frozenset, Sequence, Set), _ARRAY),
    **dict.fromkeys((dict, Mapping), _OBJECT),
}
_MADE_FROM_NUMBERS = (datetime, date, time, timedelta, Decimal)

# How deep types are compared; those that contain themselves would never end.
_DEPTH = 8


def is_unfit(given: Any, wanted: Any, restored: bool = False, depth: int = _DEPTH) -> bool:
    """Can no value of the one type pass as the other? `restored` = pydantic makes what is wanted from what is given."""
    if depth == 0 or given == wanted:
        return False
    return all(
        _is_unfit(each, other, restored, depth) for each in _alternatives(given) for other in _alternatives(wanted)
    )


def part_of(given: Any, path: Sequence[str | int]) -> Any:
    """The type of a part, as far as it is known: `ref["total"]`, `ref[0]`."""
    for part in path:
        (given, *more) = _alternatives(given)
        if more:
            return Any
        if isinstance(part, str) and (fields := _fields(given)) is not None:
            given = fields.get(part, (Any, True))[0]
        else:
            given = _element(given, part)
    return given


def item_type(annotation: Any) -> Any:
    """The type of every item of a list; None if each place may have its own, as in `tuple[int, str]`."""
    return None if any(map(_is_fixed, _alternatives(annotation))) else part_of(annotation, [0])


def type_name(annotation: Any) -> str:
    if get_origin(annotation) is None and isinstance(annotation, type):
        return "None" if annotation is NoneType else annotation.__name__
    return str(annotation).replace("typing.", "")


def _is_unfit(given: Any, wanted: Any, restored: bool, depth: int) -> bool:
    gives, takes = _kind(given), _kind(wanted)
    if gives is None or takes is None:
        return False
    if gives != takes:
        # What pydantic restores a number from, and what it restores from one.
        between = {gives, takes} == {_NUMBER, _TEXT}
        return not (between and restored and (takes == _NUMBER or _base(wanted) in _MADE_FROM_NUMBERS))
    if gives == _ARRAY:
        return any(is_unfit(one, other, restored, depth - 1) for one, other in _pairs(given, wanted))
    if gives == _OBJECT:
        return _is_unfit_object(given, wanted, restored, depth)
    return False


def _is_unfit_object(given: Any, wanted: Any, restored: bool, depth: int) -> bool:
    gives, takes = _fields(given), _fields(wanted)
    if takes is None:
        parts = [kind for kind, _ in gives.values()] if gives is not None else [_element(given, "")]
        return any(is_unfit(part, _element(wanted, ""), restored, depth - 1) for part in parts)
    if gives is None:
        value = _element(given, "")
        return any(is_unfit(value, kind, True, depth - 1) for kind, required in takes.values() if required)
    return any(
        is_unfit(gives[name][0], kind, True, depth - 1) if name in gives else required
        for name, (kind, required) in takes.items()
    )


def _alternatives(annotation: Any) -> list[Any]:
    annotation = _plain(annotation)
    if get_origin(annotation) in (Union, UnionType):
        return [each for part in get_args(annotation) for each in _alternatives(part)]
    if get_origin(annotation) is Literal:
        return [type(value) for value in get_args(annotation)]
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return [type(member.value) for member in annotation] or [Any]
    return [annotation]


def _plain(annotation: Any) -> Any:
    """Without what only pydantic and people read."""
    while True:
        if get_origin(annotation) is Annotated:
            # Metadata may hold a serialiser or a validator that changes everything.
            return Any if any(hasattr(each, "func") for each in annotation.__metadata__) else get_args(annotation)[0]
        if isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif isinstance(annotation, TypeVar):
            return Any
        else:
            return annotation


def _base(annotation: Any) -> Any:
    return get_origin(annotation) or annotation


def _kind(annotation: Any) -> str | None:
    base = _base(annotation)
    if base in _KINDS:
        return _KINDS[base]
    if isinstance(base, type) and issubclass(base, PurePath):
        return _TEXT
    return _OBJECT if _fields(annotation) is not None else None


def _fields(annotation: Any) -> dict[str, tuple[Any, bool]] | None:
    """Name → type and whether it has to be there; None for what has no known fields."""
    if is_typeddict(annotation):
        return fields_of(annotation)
    if not isinstance(annotation, type):
        return None
    if issubclass(annotation, BaseModel):
        decorators = annotation.__pydantic_decorators__
        changed = issubclass(annotation, RootModel) or decorators.model_serializers or decorators.model_validators
        aliased = any(field.alias or field.validation_alias for field in annotation.model_fields.values())
        if changed or aliased or decorators.field_serializers or decorators.field_validators:
            return None
        return {name: (field.annotation, field.is_required()) for name, field in annotation.model_fields.items()}
    if dataclasses.is_dataclass(annotation):
        hints = get_type_hints(annotation)
        without = dataclasses.MISSING
        return {
            field.name: (hints[field.name], field.default is without and field.default_factory is without)
            for field in dataclasses.fields(annotation)
            if field.init
        }
    return None


def _element(annotation: Any, part: str | int) -> Any:
    arguments = get_args(annotation)
    base = _base(annotation)
    if _KINDS.get(base) == _OBJECT:
        return arguments[1] if len(arguments) == 2 and isinstance(part, str) else Any
    if _KINDS.get(base) != _ARRAY or not isinstance(part, int) or not arguments:
        return Any
    if base is tuple and arguments[-1] is not Ellipsis:
        return arguments[part] if -len(arguments) <= part < len(arguments) else Any
    return arguments[0]


def _is_fixed(annotation: Any) -> bool:
    return _base(annotation) is tuple and Ellipsis not in get_args(annotation)


def _pairs(given: Any, wanted: Any) -> Iterator[tuple[Any, Any]]:
    """The types of items that meet."""
    fixed = [len(get_args(each)) for each in (given, wanted) if _is_fixed(each)]
    for place in range(min(fixed, default=1)):
        yield _element(given, place), _element(wanted, place)

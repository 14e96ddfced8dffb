"""`typing.TypedDict` for pydantic, which below Python 3.12 knows only that of `typing_extensions`."""

from __future__ import annotations

import sys
import typing
from types import UnionType
from typing import Any, Union, get_args, get_origin

import typing_extensions

_MARKS: dict[Any, bool] = {
    typing.Required: True,
    typing.NotRequired: False,
    typing_extensions.Required: True,
    typing_extensions.NotRequired: False,
}


def known_to_pydantic(annotation: Any) -> Any:
    """The same type; inside of it, each TypedDict is one that pydantic can check."""
    return annotation if sys.version_info >= (3, 12) else _translated(annotation, ())


def fields_of(typed_dict: Any) -> dict[str, tuple[Any, bool]]:
    """Name → type and whether it has to be there. The class itself does not know that of annotations kept as text."""
    fields = {}
    for name, hint in typing.get_type_hints(typed_dict, include_extras=True).items():
        mark = get_origin(hint)
        if mark in _MARKS:
            fields[name] = (get_args(hint)[0], _MARKS[mark])
        else:
            fields[name] = (hint, name in typed_dict.__required_keys__)
    return fields


def _translated(annotation: Any, inside: tuple[Any, ...]) -> Any:
    if typing.is_typeddict(annotation):
        return _twin(annotation, inside)
    parts = get_args(annotation)
    if not parts or get_origin(annotation) in (typing.Literal, typing.Annotated):
        return annotation
    made = tuple(_translated(part, inside) for part in parts)
    if made == parts:
        return annotation
    if get_origin(annotation) is UnionType:
        return Union[made]  # noqa: UP007
    copy: Any = annotation
    return copy.copy_with(made) if hasattr(annotation, "copy_with") else get_origin(annotation)[made]


def _twin(annotation: Any, inside: tuple[Any, ...]) -> Any:
    if annotation in inside:
        return dict[str, Any]  # it contains itself: from here on it is taken as it comes
    fields = {}
    for name, (kind, required) in fields_of(annotation).items():
        made = _translated(kind, (*inside, annotation))
        fields[name] = made if required else typing_extensions.NotRequired[made]
    return typing_extensions.TypedDict(annotation.__name__, fields)  # type: ignore[operator]

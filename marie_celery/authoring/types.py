"""Annotations: which values need help to travel as JSON, and how they come back as what they were."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from pydantic import PydanticUserError, TypeAdapter, ValidationError

from marie_celery.authoring.typed_dicts import known_to_pydantic
from marie_celery.errors import PayloadError

_PLAIN = (str, int, float, bool, NoneType, dict, list, Any, object, inspect.Parameter.empty)
_PLAIN_CONTAINERS = (list, dict, Union, UnionType)


_KINDS = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
)


# How many kinds of calls of one function are kept; with *args and **kwargs there is no end to them.
_MOST_CALLS = 100


class Parameter(NamedTuple):
    """Who takes an argument of a call."""

    name: str
    where: str
    """How problems name it."""
    hint: Any
    adapter: TypeAdapter[Any] | None
    """None if JSON carries it by itself."""


def is_plain(annotation: Any) -> bool:
    """JSON carries values of this type as they are."""
    if get_origin(annotation) in _PLAIN_CONTAINERS:
        return all(is_plain(part) for part in get_args(annotation))
    return annotation in _PLAIN


class Signature:
    """Parameters and result of a task's function, by their annotations."""

    is_checked = True
    """Results that certainly do not fit are refused."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._function = function
        self._name = name
        self._takers: dict[tuple[int, tuple[str, ...]], tuple[Parameter, ...]] = {}

    @cached_property
    def shape(self) -> inspect.Signature:
        return inspect.signature(self._function)

    @cached_property
    def places(self) -> tuple[list[str], str, str]:
        """Parameters filled by place, the one that takes further places, the one that takes further names."""
        kinds = {kind: [p.name for p in self.shape.parameters.values() if p.kind is kind] for kind in _KINDS}
        rest, named = kinds[inspect.Parameter.VAR_POSITIONAL], kinds[inspect.Parameter.VAR_KEYWORD]
        places = kinds[inspect.Parameter.POSITIONAL_ONLY] + kinds[inspect.Parameter.POSITIONAL_OR_KEYWORD]
        return places, "".join(rest), "".join(named)

    def takers(self, count: int, names: tuple[str, ...]) -> tuple[Parameter, ...]:
        """Who takes the arguments of a call: so many by place, then these by name. PayloadError if nobody would.

        It depends on nothing else, so calls that look alike share the answer.
        """
        known = self._takers.get((count, names))
        if known is None:
            known = tuple(map(self.parameter, self.names_of_takers(count, names)))
            if len(self._takers) < _MOST_CALLS:
                self._takers[count, names] = known
        return known

    def names_of_takers(self, count: int, names: tuple[str, ...]) -> list[str]:
        """The same without a look at annotations: one that is no good harms only who gives a value to it."""
        try:
            self.shape.bind(*range(count), **dict.fromkeys(names))
        except TypeError as error:
            raise PayloadError(str(error)) from None
        places, rest, named = self.places
        by_place = [*places[:count], *[rest] * (count - len(places))]
        return by_place + [name if name in self.shape.parameters else named for name in names]

    def parameter(self, name: str) -> Parameter:
        return Parameter(name, f"argument '{name}'", self.hints.get(name, Any), self.adapters.get(name))

    @cached_property
    def hints(self) -> dict[str, Any]:
        try:
            return get_type_hints(self._function, include_extras=True)
        except NameError as error:
            raise PayloadError(f"{self._name}: an annotation cannot be resolved: {error}") from None

    @cached_property
    def adapters(self) -> Mapping[str, TypeAdapter[Any]]:
        """By parameter; only those whose type JSON does not carry by itself."""
        return {
            name: self._adapter(hint, f"parameter '{name}'")
            for name, hint in self.hints.items()
            if name != "return" and not is_plain(hint)
        }

    @cached_property
    def result_adapter(self) -> TypeAdapter[Any] | None:
        hint = self.hints.get("return", Any)
        return None if is_plain(hint) else self._adapter(hint, "the result")

    def _adapter(self, hint: Any, where: str) -> TypeAdapter[Any]:
        try:
            return TypeAdapter(known_to_pydantic(hint))
        except PydanticUserError:
            text = f"{self._name}: {where} is annotated with {hint!r}, which pydantic does not know"
            raise PayloadError(text) from None

    def restore_arguments(self, args: list[Any], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments as the function expects them, from what JSON has carried."""
        if not self.adapters:
            return tuple(args), kwargs
        bound = self.shape.bind(*args, **kwargs)
        for name, adapter in self.adapters.items():
            if name not in bound.arguments:
                continue
            kind = self.shape.parameters[name].kind
            value = bound.arguments[name]
            if kind is inspect.Parameter.VAR_POSITIONAL:
                bound.arguments[name] = tuple(self._restore(adapter, item, name) for item in value)
            elif kind is inspect.Parameter.VAR_KEYWORD:
                bound.arguments[name] = {key: self._restore(adapter, item, name) for key, item in value.items()}
            else:
                bound.arguments[name] = self._restore(adapter, value, name)
        return bound.args, bound.kwargs

    def restore_result(self, value: Any) -> Any:
        return value if self.result_adapter is None else self._restore(self.result_adapter, value, "the result")

    def _restore(self, adapter: TypeAdapter[Any], value: Any, where: str) -> Any:
        try:
            return adapter.validate_python(value)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise PayloadError(
                f"{self._name}: {where}{f' ({place})' if place else ''} does not fit its annotation: {first['msg']}"
            ) from None


class ForeignSignature(Signature):
    """Of a function that was not written for us: an annotation helps where it can, and is overlooked where not."""

    is_checked = False

    @cached_property
    def hints(self) -> dict[str, Any]:
        try:
            found = super().hints
        except PayloadError:
            return {}
        return {name: hint for name, hint in found.items() if self._is_known(hint)}

    def _is_known(self, hint: Any) -> bool:
        if is_plain(hint):
            return True
        try:
            self._adapter(hint, "")
        except PayloadError:
            return False
        return True

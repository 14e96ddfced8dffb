"""Resources that jobs share: declaring them, changing their size, looking at them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from marie_celery.errors import ConfigError, ServerError, UnknownResource
from marie_celery.resources import Delta, ResourceSettings, changed, difference
from marie_celery.resources.rate import gain_of
from marie_celery.resources.stock import Holding, Line, Stock, Waiter
from marie_celery.store.caller import Caller, in_seconds, maybe_int, pairs
from marie_celery.store.codes import Code

LINES_AT_ONCE = 100
TRIES = 100

_settings: TypeAdapter[ResourceSettings] = TypeAdapter(ResourceSettings)


@dataclass(frozen=True, slots=True)
class Definition:
    """A resource as it was declared, and as it is since operators have changed its size."""

    declared: ResourceSettings
    current: ResourceSettings

    @classmethod
    def from_text(cls, text: str) -> Definition:
        found = json.loads(text)
        return cls(_settings.validate_python(found["declared"]), _settings.validate_python(found["current"]))

    def as_text(self) -> str:
        fields = {"declared": self.declared, "current": self.current}
        return json.dumps({name: settings.model_dump(mode="json") for name, settings in fields.items()})


@dataclass(frozen=True, slots=True)
class Resized:
    before: ResourceSettings
    after: ResourceSettings


class Resourcing(Caller):
    def resources(self) -> dict[str, ResourceSettings]:
        """What there is now."""
        found = self.client.hgetall(self.keys.resources)
        return {name: Definition.from_text(text).current for name, text in sorted(found.items())}

    def declare(self, name: str, declared: ResourceSettings, by: str = "") -> None:
        """Say what a resource is. What operators have changed since stays changed; only the difference counts."""

        def step(before: Definition | None) -> Definition:
            if before is None:
                return Definition(declared, declared)
            try:
                resized = changed(before.current, difference(before.declared, declared))
            except ValueError as error:
                raise ConfigError(f"resource '{name}': {_first(error)}") from None
            fields = {"consumption", "executors", "on_shortage", "path"} & type(declared).model_fields.keys()
            manners = {field: getattr(declared, field) for field in fields}
            return Definition(declared, resized.model_copy(update=manners))

        self._change(name, step, by)

    def resize(self, name: str, delta: Delta, by: str = "") -> Resized:
        """Grow or shrink a resource. What is booked stays booked."""

        def step(before: Definition | None) -> Definition:
            if before is None:
                raise UnknownResource(name, self.resources())
            try:
                return Definition(before.declared, changed(before.current, delta))
            except ValueError as error:
                raise ConfigError(f"resource '{name}': {_first(error)}") from None

        before, after = self._change(name, step, by)
        assert before is not None
        return Resized(before.current, after.current)

    def stock(self, name: str = "", most: int = 0) -> list[Stock]:
        """All resources or one, in one consistent look; so many of the holders and of each line are named."""
        found = self.call("stock", name, most)
        if name and not found:
            raise UnknownResource(name, self.resources())
        return sorted((_stock(*row) for row in found), key=lambda stock: stock.name)

    def supply(self, most: int = LINES_AT_ONCE) -> tuple[int, float | None]:
        """Look whether those who are short of something can have it now. Returns how many lines, and the seconds
        until the next look."""
        looked, next_ms = self.call("supply", most)
        return looked, in_seconds(next_ms)

    def note_skips(self, skips: Mapping[str, int]) -> None:
        """How often jobs have been passed, where the scheduler counts."""
        with self.client.pipeline() as pipe:
            for job, count in skips.items():
                pipe.hset(self.keys.job(job), "skips", count)
            pipe.execute()

    def _change(
        self, name: str, step: Callable[[Definition | None], Definition], by: str
    ) -> tuple[Definition | None, Definition]:
        for _ in range(TRIES):
            text = self.client.hget(self.keys.resources, name) or ""
            before = Definition.from_text(text) if text else None
            after = step(before)
            if after == before:
                return before, after
            (code,) = self.call(
                "resize", name, text, after.as_text(), *_figures(after.current), by, *_items(before, after)
            )
            if code == Code.OK:
                return before, after
        raise ServerError(f"resource '{name}' was changed by others {TRIES} times while this change was made")


def _figures(current: ResourceSettings) -> list[object]:
    gain = gain_of(current.rate) if current.kind == "rate" else 0
    return [current.kind, current.most, gain, current.on_shortage.value if current.on_shortage else ""]


def _items(before: Definition | None, after: Definition) -> list[object]:
    had = before.current.items if before and before.current.kind == "discrete" else ()
    has = after.current.items if after.current.kind == "discrete" else ()
    comes = [item for item in has if item not in had]
    goes = [item for item in had if item not in has]
    return [len(comes), *comes, len(goes), *goes]


def _stock(name: str, text: str, used: Sequence[str], *rest: Any) -> Stock:
    items, free, leaving, nano_tokens, holders, holdings, lines = rest
    definition = Definition.from_text(text)
    return Stock(
        name,
        definition.declared,
        definition.current,
        {key: int(units) for key, units in pairs(used)},
        tuple(items),
        frozenset(free),
        frozenset(leaving),
        maybe_int(nano_tokens or None),
        int(holders),
        tuple(holding_of(*row) for row in holdings),
        tuple(sorted((_line(name, *row) for row in lines), key=lambda line: line.key)),
    )


def holding_of(attempt: str, text: str, worker: str) -> Holding:
    amount, key, items = json.loads(text)
    return Holding(attempt, int(amount), key, tuple(items.split(",")) if items else (), worker)


def _line(name: str, line: str, waiting: int, first: Sequence[Sequence[str]]) -> Line:
    return Line(line.partition("/")[2], int(waiting), tuple(_waiter(name, *row) for row in first))


def _waiter(resource: str, job: str, name: str, executor: str, needs: str) -> Waiter:
    amount = sum(int(amount) for each, amount, _ in json.loads(needs or "[]") if each == resource)
    return Waiter(job, name, executor, amount)


def _first(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        item = error.errors()[0]
        return f"{'.'.join(map(str, item['loc']))}: {item['msg'].removeprefix('Value error, ')}"
    return str(error)

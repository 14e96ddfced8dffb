"""A resource at one moment: how much there is, who has it, who waits for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from marie_celery.resources.rate import TOKEN
from marie_celery.resources.settings import ResourceSettings, measures

NO_KEY = "*"
"""Under which units are counted where there are no keys."""


@dataclass(frozen=True, slots=True)
class Holding:
    """What one attempt has of a resource."""

    attempt: str
    amount: int
    key: str = ""
    items: tuple[str, ...] = ()
    worker: str = ""
    """'' while nobody has started it."""


@dataclass(frozen=True, slots=True)
class Waiter:
    job_id: str
    name: str
    executor: str
    amount: int


@dataclass(frozen=True, slots=True)
class Line:
    """Those who wait for the same thing, the best ranked first."""

    key: str
    waiting: int
    first: Sequence[Waiter] = ()


@dataclass(frozen=True, slots=True)
class Stock:
    name: str
    declared: ResourceSettings
    current: ResourceSettings
    """Since operators have changed its size."""
    used_by_key: Mapping[str, int] = field(default_factory=dict)
    items: Sequence[str] = ()
    """All, in their order; those that leave are here until they are given back."""
    free_items: frozenset[str] = frozenset()
    leaving: frozenset[str] = frozenset()
    nano_tokens: int | None = None
    """Of a rate: what is in the bucket."""
    holders: int = 0
    holdings: Sequence[Holding] = ()
    """The first of them, if they were asked for."""
    lines: Sequence[Line] = ()

    @property
    def size(self) -> int:
        """Units, items, the burst of a rate, or the limit under each key."""
        return self.current.most

    @property
    def used(self) -> float:
        """Of all keys together; of a rate what is missing in the bucket."""
        if self.nano_tokens is not None:
            return max(0.0, self.size - self.nano_tokens / TOKEN)
        if self.current.kind == "discrete":
            return len(self.items) - len(self.free_items)
        return sum(self.used_by_key.values())

    @property
    def waiting(self) -> int:
        return sum(line.waiting for line in self.lines)

    @property
    def is_resized(self) -> bool:
        return measures(self.current) != measures(self.declared)

    @property
    def holder_of(self) -> dict[str, str | None]:
        """Item → who has it, as far as the holders were asked for."""
        owners = {item: holding.attempt for holding in self.holdings for item in holding.items}
        return {item: owners.get(item) for item in self.items}

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.current.kind,
            "size": self.size,
            "used": self.used,
            "waiting": self.waiting,
            "holders": self.holders,
            "on_shortage": self.current.on_shortage,
            **self._of_kind(),
            "declared": measures(self.declared),
            "current": measures(self.current),
        }

    def _of_kind(self) -> dict[str, Any]:
        match self.current.kind:
            case "discrete":
                free = [item for item in self.items if item in self.free_items]
                return {"items": list(self.items), "free": free, "leaving": sorted(self.leaving)}
            case "rate":
                return {"tokens": (self.nano_tokens or 0) / TOKEN}
        return {"used_by_key": {"" if key == NO_KEY else key: units for key, units in self.used_by_key.items()}}

    def details_as_json(self) -> dict[str, Any]:
        """With its holders and lines."""
        return {**self.as_json(), "holdings": list(map(asdict, self.holdings)), "lines": list(map(asdict, self.lines))}

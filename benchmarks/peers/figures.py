"""What was measured, and the arithmetic on it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Self

from benchmarks.peers.workloads import Workload


@dataclass(frozen=True)
class Spread:
    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        return cls(median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{number(self.median)} ({number(self.least)}–{number(self.most)})"


def number(value: float) -> str:
    """Three digits that count, and spaces between thousands as in the rest of the documentation."""
    if value >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


@dataclass
class Results:
    machine: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """By workload, then by system, one per round."""
    skipped: dict[str, str] = field(default_factory=dict)
    """System → the reason, in one line."""

    def add(self, system: str, taken: dict[str, float]) -> None:
        for workload, seconds in taken.items():
            self.seconds.setdefault(workload, {}).setdefault(system, []).append(seconds)

    def skip(self, system: str, reason: str) -> None:
        """A system that failed once is not shown at all: half of its rounds would be its better half."""
        self.skipped[system] = reason
        for by_system in self.seconds.values():
            by_system.pop(system, None)

    def figures(self, workload: Workload, system: str) -> Spread | None:
        seconds = self.seconds.get(workload.name, {}).get(system)
        return Spread.of([workload.figure(each) for each in seconds]) if seconds else None

    def speed(self, workload: str, ours: str, theirs: str) -> Spread | None:
        """How many times as fast `ours` is, round by round: what bends a whole round bends both."""
        by_system = self.seconds.get(workload, {})
        pairs = list(zip(by_system.get(ours, []), by_system.get(theirs, []), strict=False))
        return Spread.of([their_time / our_time for our_time, their_time in pairs]) if pairs else None

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Self:
        return cls(**json.loads(text))

"""What goes wrong, and when: a row without end that follows from the seed alone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

SKEWS = (0, 0, 300, -300)
WEIGHTS = {
    "kill_child": 24,
    "kill_worker": 12,
    "kill_scheduler": 12,
    "freeze_worker": 7,
    "freeze_scheduler": 6,
    "restart_redis": 4,
    "flush_scripts": 11,
    "reset_connections": 13,
    "slow_network": 11,
}


@dataclass(frozen=True, slots=True)
class Fault:
    at: float
    """Seconds since the start."""
    kind: str
    target: int
    """Which of them, modulo how many there are."""
    seconds: float
    """How long it lasts, where it lasts."""
    skew: int
    """By how many seconds the wall clock of the next process is wrong."""


def schedule(seed: int, every: float, freeze_seconds: float) -> Iterator[Fault]:
    rng = random.Random(seed)
    at = every
    while True:
        kind = rng.choices(list(WEIGHTS), weights=list(WEIGHTS.values()))[0]
        lasts = freeze_seconds * rng.uniform(1.0, 1.3) if kind.startswith("freeze") else rng.uniform(0.2, 2.0)
        yield Fault(at, kind, rng.randrange(1000), lasts, rng.choice(SKEWS))
        at += every * rng.uniform(0.5, 1.5)

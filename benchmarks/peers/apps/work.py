"""The work that all systems do. Only the standard library: every peer's own environment imports this file."""

from __future__ import annotations

from collections.abc import Sequence

PRIME = 9973


def step(x: int, i: int = 0) -> int:
    return x + i + 1


def join(xs: Sequence[int]) -> int:
    """A sum that stays small, so that a missing, doubled or changed part shows in every language."""
    return sum(xs) % PRIME

"""Percentiles, and a histogram that a terminal can show."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

WIDE = 50


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def histogram(values: Sequence[float]) -> list[str]:
    """Buckets that grow by the root of two: a long tail fits on a screen."""
    buckets = Counter(math.floor(2 * math.log2(value)) for value in values if value > 0)
    most = max(buckets.values(), default=0)
    lines = []
    for bucket in range(min(buckets, default=0), max(buckets, default=-1) + 1):
        count = buckets[bucket]
        bar = "█" * math.ceil(WIDE * count / most)
        lines.append(f"{2 ** (bucket / 2):8.2f} ms  {count:6}  {bar}".rstrip())
    return lines

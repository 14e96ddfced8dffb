"""When runs arrive: gaps between them, in no unit; whoever uses them stretches them to a span of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate, islice
from random import Random

MEAN_BURST = 60
BURST_SPEED = 6.0
LULL_SPEED = 0.5
TAIL = 1.6


def poisson(random: Random) -> Iterator[float]:
    """Independent arrivals, the steady case."""
    while True:
        yield random.expovariate(1.0)


def bursty(random: Random) -> Iterator[float]:
    """Crowds and lulls in turn, with as many runs in one as in the other."""
    while True:
        for speed in (BURST_SPEED, LULL_SPEED):
            for _ in range(1 + int(random.expovariate(1 / MEAN_BURST))):
                yield random.expovariate(speed)


def heavy_tail(random: Random) -> Iterator[float]:
    """Gaps with a long tail: silence, and then much at once."""
    while True:
        yield random.paretovariate(TAIL) - 1.0


ARRIVALS: dict[str, Callable[[Random], Iterator[float]]] = {
    "poisson": poisson,
    "bursty": bursty,
    "heavy_tail": heavy_tail,
}


def arrival_times(kind: str, count: int, span_ms: int, random: Random) -> list[int]:
    """`count` moments of that kind; the last one is at the end of the span."""
    moments = list(accumulate(islice(ARRIVALS[kind](random), count)))
    scale = span_ms / moments[-1] if moments and moments[-1] > 0 else 0.0
    return [int(moment * scale) for moment in moments]

"""What waits for an executor, as an autoscaler wants to know it: how many jobs, how old, how much work.

There may be a million of them, so from each sorted set only a random sample is looked at; what it says is scaled up. A
set no larger than the sample is told exactly. The longest wait is looked for among the best ranked as well, where age
and the order of submission bring the old ones; in a large set it may still miss one that others keep overtaking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

AGES = (0, 1, 10, 60, 600, 3600)
"""Seconds at which the bands of ages begin."""


@dataclass(frozen=True, slots=True)
class Waiting:
    age_ms: int
    estimate_ms: int | None


@dataclass(frozen=True, slots=True)
class Sample:
    total: int
    seen: Sequence[Waiting]
    """Drawn at random."""
    best: Sequence[Waiting] = ()
    """The next in line."""


@dataclass(frozen=True, slots=True)
class Backlog:
    jobs: int
    seconds: float | None
    """Estimated work; jobs without an estimate count like the average of the others. None = nothing is known."""
    oldest_seconds: float
    """The longest wait seen; 0 if nothing waits."""
    by_age: tuple[int, ...]
    """How many jobs in each band of AGES."""
    is_sampled: bool

    def as_json(self) -> dict[str, object]:
        return {
            "jobs": self.jobs,
            "seconds": self.seconds,
            "by_age": [
                {"from_seconds": first, "to_seconds": last, "jobs": jobs}
                for (first, last), jobs in zip(pairwise((*AGES, None)), self.by_age, strict=True)
            ],
            "sampled": self.is_sampled,
        }


def backlog_of(samples: Sequence[Sample]) -> Backlog:
    ages = [waiting.age_ms for sample in samples for waiting in (*sample.seen, *sample.best)]
    counts = [0.0] * len(AGES)
    for sample in samples:
        for waiting in sample.seen:
            counts[_band(waiting.age_ms)] += sample.total / len(sample.seen)
    return Backlog(
        jobs=sum(sample.total for sample in samples),
        seconds=_work(samples),
        oldest_seconds=max(ages, default=0) / 1000,
        by_age=tuple(map(round, counts)),
        is_sampled=any(len(sample.seen) < sample.total for sample in samples),
    )


def _band(age_ms: int) -> int:
    return sum(age_ms >= first * 1000 for first in AGES[1:])


def _work(samples: Sequence[Sample]) -> float | None:
    known = [waiting.estimate_ms for sample in samples for waiting in sample.seen if waiting.estimate_ms is not None]
    if not known:
        return None if any(sample.total for sample in samples) else 0.0
    otherwise = sum(known) / len(known)
    total_ms = 0.0
    for sample in samples:
        seen = [otherwise if waiting.estimate_ms is None else waiting.estimate_ms for waiting in sample.seen]
        total_ms += sample.total * (sum(seen) / len(seen) if seen else otherwise)
    return round(total_ms / 1000, 3)

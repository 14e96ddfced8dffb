"""What we want to reach against the peers. All are told as how many times as fast we are in the same round."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.peers.figures import Results, number


@dataclass(frozen=True)
class Bar:
    text: str
    workload: str
    ours: str
    theirs: str
    at_least: float


BARS = (
    Bar("layered, against Celery's canvas", "layered", "marie", "celery", 40),
    Bar("layered, against BullMQ flows", "layered", "marie", "bullmq", 1.5),
    Bar("layered, against Dask", "layered", "marie", "dask", 4),
    Bar("hop of the chain, against Celery", "chain", "marie", "celery", 20),
    Bar("hop of the chain, against BullMQ", "chain", "marie", "bullmq", 3),
    Bar("flood, against bare Celery", "flood", "marie", "celery", 4),
    Bar("flood with events and Flower, against without", "flood", "marie-watched", "marie", 0.6),
    Bar("no relay: layered, against Celery's canvas", "layered", "marie-plain", "celery", 8),
    Bar("no relay: hop of the chain, against Celery", "chain", "marie-plain", "celery", 5),
    Bar("no relay: flood, against bare Celery", "flood", "marie-plain", "celery", 0.9),
)


@dataclass(frozen=True)
class Verdict:
    bar: Bar
    reached: str
    is_met: bool | None
    """None: not measured."""

    @property
    def word(self) -> str:
        return {True: "met", False: "not met", None: "not measured"}[self.is_met]


def judge(results: Results) -> list[Verdict]:
    """By the median of the rounds."""
    verdicts = []
    for bar in BARS:
        speed = results.speed(bar.workload, bar.ours, bar.theirs)
        if speed is None:
            verdicts.append(Verdict(bar, "–", None))
        else:
            verdicts.append(Verdict(bar, f"{number(speed.median)} ×", speed.median >= bar.at_least))
    return verdicts

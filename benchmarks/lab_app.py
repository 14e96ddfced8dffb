"""What the benchmarks of our own run on real workers: `celery -A benchmarks.lab_app`."""

from __future__ import annotations

import time

from celery import Celery

from marie_celery import Marie

app = Celery("lab")
marie = Marie(app)


@marie.task(executor="main")
def step(x: int) -> int:
    return x + 1


@marie.task(executor="main")
def total(xs: list[int]) -> int:
    return sum(xs)


@marie.task(executor="main")
def nap(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


@marie.task(executor="main")
def hop(ends: list[list[float]]) -> list[float]:
    """Seconds since the last of its parents was done, and when it was done itself. One machine has one such clock."""
    began = time.perf_counter()
    last = max((end for _, end in ends), default=began)
    return [began - last, time.perf_counter()]


@marie.dag
def flood(count: int) -> int:
    return total([step(number) for number in range(count)])


@marie.dag
def naps(count: int, seconds: float) -> list[float]:
    return [nap(seconds) for _ in range(count)]


@marie.dag
def hops(length: int) -> list[list[float]]:
    row = [hop([])]
    for _ in range(length):
        row.append(hop([row[-1]]))
    return row[1:]

"""marie_celery: each workload is one DAG."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import work
from celery import Celery

from marie_celery import Marie

app = Celery("marie_app", broker=os.environ["REDIS_URL"])
marie = Marie(app)


@marie.task(executor="main")
def step(x: int, i: int) -> int:
    return work.step(x, i)


@marie.task(executor="main")
def join(xs: list[int]) -> int:
    return work.join(xs)


@marie.dag
def flood(count: int) -> list[int]:
    return [step(0, number) for number in range(count)]


@marie.dag
def chain(length: int) -> int:
    x = 0
    for _ in range(length):
        x = step(x, 0)
    return x


@marie.dag
def chord(width: int) -> int:
    return join([step(0, number) for number in range(width)])


@marie.dag
def layered(layers: int, width: int) -> int:
    x = 0
    for _ in range(layers):
        x = join([step(x, number) for number in range(width)])
    return x


def workloads() -> dict[str, Callable[..., Any]]:
    return {
        "flood": lambda count: flood.submit(count).result(),
        "chain": lambda length: chain.submit(length).result(),
        "chord": lambda width: chord.submit(width).result(),
        "layered": lambda layers, width: layered.submit(layers, width).result(),
    }

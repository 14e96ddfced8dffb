"""Bare Celery for the flood, Celery's canvas for what has an order."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import work
from celery import Celery, chord, group
from celery import chain as in_a_row

app = Celery("celery_app", broker=os.environ["REDIS_URL"], backend=os.environ["REDIS_URL"])
# Short tasks gain by a longer prefetch; Celery's guide to optimising says so.
app.conf.update(worker_prefetch_multiplier=64, result_expires=3600)


@app.task
def step(x: int, i: int) -> int:
    return work.step(x, i)


@app.task
def join(xs: list[int]) -> int:
    return work.join(xs)


def flood(count: int) -> list[int]:
    return group(step.s(0, number) for number in range(count)).apply_async().get()


def chain(length: int) -> int:
    return in_a_row(step.s(0, 0), *(step.s(0) for _ in range(length - 1))).apply_async().get()


def fan(width: int) -> int:
    return chord(step.s(0, number) for number in range(width))(join.s()).get()


def layered(layers: int, width: int) -> int:
    first = group(step.s(0, number) for number in range(width))
    others = [part for _ in range(layers - 1) for part in (group(step.s(number) for number in range(width)), join.s())]
    return in_a_row(first, join.s(), *others).apply_async().get()


def workloads() -> dict[str, Callable[..., Any]]:
    return {"flood": flood, "chain": chain, "chord": fan, "layered": layered}

"""Prefect: a flow in the client's process, its tasks on two threads, the state in a local server."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any
from urllib.request import urlopen

import work
from prefect import flow, task
from prefect.task_runners import ThreadPoolTaskRunner

step = task(work.step, name="step")
join = task(work.join, name="join")
two = ThreadPoolTaskRunner(max_workers=2)


@flow(task_runner=two)
def flood(count: int) -> list[int]:
    return [future.result() for future in [step.submit(0, number) for number in range(count)]]


@flow(task_runner=two)
def chain(length: int) -> int:
    x: Any = 0
    for _ in range(length):
        x = step.submit(x, 0)
    return x.result()


@flow(task_runner=two)
def layered(layers: int, width: int) -> int:
    x: Any = 0
    for _ in range(layers):
        x = join.submit([step.submit(x, number) for number in range(width)])
    return x.result()


def wait_for_server() -> None:
    """A client that comes first does not wait, but fails."""
    for _ in range(600):
        try:
            with urlopen(f"{os.environ['PREFECT_API_URL']}/health"):
                return
        except OSError:
            time.sleep(0.1)


def workloads() -> dict[str, Callable[..., Any]]:
    wait_for_server()
    return {"flood": flood, "chain": chain, "chord": lambda width: layered(1, width), "layered": layered}

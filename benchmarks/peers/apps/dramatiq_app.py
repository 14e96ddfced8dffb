"""Dramatiq: pipelines, and groups with a completion callback.

A callback is not given the group's results, so `join` reads them; and a group cannot follow a group, so `join` sends
the next layer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import dramatiq
import work
from dramatiq import group
from dramatiq.brokers.redis import RedisBroker
from dramatiq.message import Message
from dramatiq.middleware import GroupCallbacks
from dramatiq.rate_limits.backends import RedisBackend as Counters
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend as ResultBackend

PATIENCE_MS = 120_000

url = os.environ["REDIS_URL"]
broker = RedisBroker(url=url)
broker.add_middleware(GroupCallbacks(Counters(url=url)))
# Added last, and so the first to act on an end: a result is there before the callback is.
broker.add_middleware(Results(backend=ResultBackend(url=url), store_results=True))
dramatiq.set_broker(broker)


@dramatiq.actor
def step(i: int, x: int) -> int:
    return work.step(x, i)


@dramatiq.actor
def join(parts: list[str], layers_left: int, last: str) -> int:
    """Its own result is of use only if it is the last."""
    x = work.join([value(step.message(0, 0).copy(message_id=part)) for part in parts])
    if layers_left:
        send_layer(x, len(parts), layers_left, last)
    return x


def send_layer(x: int, width: int, layers: int, last: str) -> Message[int]:
    parts = [step.message(number, x) for number in range(width)]
    end = join.message([part.message_id for part in parts], layers - 1, last)
    if layers == 1:
        end = end.copy(message_id=last)
    layer = group(parts)
    layer.add_completion_callback(end)
    layer.run()
    return end


def value(message: Message[int]) -> int:
    return message.get_result(block=True, timeout=PATIENCE_MS)


def flood(count: int) -> list[int]:
    sent = group([step.message(number, 0) for number in range(count)]).run()
    return list(sent.get_results(block=True, timeout=PATIENCE_MS))


def chain(length: int) -> int:
    # What a message returns becomes the last argument of the next.
    steps = dramatiq.pipeline([step.message(0, 0), *(step.message(0) for _ in range(length - 1))])
    return steps.run().get_result(block=True, timeout=PATIENCE_MS)


def layered(layers: int, width: int) -> int:
    last = join.message([], 0, "")
    send_layer(0, width, layers, last.message_id)
    return value(last)


def workloads() -> dict[str, Callable[..., Any]]:
    return {"flood": flood, "chain": chain, "chord": lambda width: layered(1, width), "layered": layered}

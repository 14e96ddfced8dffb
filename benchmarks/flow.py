"""The cooperative runtime beside a bare deque and an asyncio.Queue, in one run.

    python -m benchmarks.flow [--rounds 5]

Rounds are interleaved and medians shown, so a noisy machine bends all lines alike: the ratios are what to read.
Exits with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import threading
import time
from collections import deque
from collections.abc import Callable

import redis

from marie_celery.embedded import EmbeddedServer
from marie_celery.flow import BLOCK, DROP, Lane, MemoryEdge, Message, Node, Port, Scheduler
from marie_celery.store.connection import connect
from marie_celery.store.edges import RedisEdges

EDGE_COUNT = 200_000
PIPELINE_COUNT = 50_000
REDIS_COUNT = 2_000
CAPACITY = 64
BATCH = 16
IDLE_SECONDS = 4.0


def edge_memory() -> int:
    edge, message = MemoryEdge("a:out->b:in", CAPACITY), Message(1)
    for _ in range(EDGE_COUNT):
        edge.put(message)
        edge.take(Lane.DATA)
    return EDGE_COUNT


def edge_deque() -> int:
    waiting: deque[Message] = deque()
    message = Message(1)
    for _ in range(EDGE_COUNT):
        waiting.append(message)
        waiting.popleft()
    return EDGE_COUNT


def edge_asyncio() -> int:
    waiting: asyncio.Queue[Message] = asyncio.Queue(CAPACITY)
    message = Message(1)
    for _ in range(EDGE_COUNT):
        waiting.put_nowait(message)
        waiting.get_nowait()
    return EDGE_COUNT


class Source(Node):
    """Sends one message a callback, and wakes itself for the next."""

    inputs = (Port("next"),)
    outputs = (Port("out"), Port("next"))
    sent = 0

    def on_start(self) -> None:
        self.emit("next", None)

    def on_message(self, port: str, message: Message) -> None:
        self.emit("out", self.sent)
        self.sent += 1
        if self.sent < PIPELINE_COUNT:
            self.emit("next", None)


class Relay(Node):
    inputs = (Port("in"),)
    outputs = (Port("out"),)

    def on_message(self, port: str, message: Message) -> None:
        self.emit("out", message)


class Sink(Node):
    inputs = (Port("in"),)

    def __init__(self, name: str, scheduler: Scheduler) -> None:
        super().__init__(name)
        self.got = 0
        self.scheduler = scheduler

    def on_message(self, port: str, message: Message) -> None:
        self.got += 1
        if self.got == PIPELINE_COUNT:
            self.scheduler.shutdown()


def pipeline_flow() -> int:
    scheduler = Scheduler()
    sink = Sink("sink", scheduler)
    for unit in (Source("source"), Relay("relay"), sink):
        scheduler.register(unit)
    scheduler.connect("source:next", "source:next", capacity=1, policy=DROP)
    scheduler.connect("source:out", "relay:in", capacity=CAPACITY)
    scheduler.connect("relay:out", "sink:in", capacity=CAPACITY)
    scheduler.run()
    return sink.got


def pipeline_deque() -> int:
    """Three loops that take turns over two bounded deques: no policies, bands, errors, traces or books."""
    first: deque[Message] = deque()
    second: deque[Message] = deque()
    sent = got = 0
    while got < PIPELINE_COUNT:
        for _ in range(BATCH):
            if len(first) < CAPACITY and sent < PIPELINE_COUNT:
                first.append(Message(sent))
                sent += 1
        for _ in range(BATCH):
            if first and len(second) < CAPACITY:
                second.append(first.popleft())
        for _ in range(BATCH):
            if second:
                second.popleft()
                got += 1
    return got


def pipeline_asyncio() -> int:
    async def main() -> int:
        first: asyncio.Queue[Message] = asyncio.Queue(CAPACITY)
        second: asyncio.Queue[Message] = asyncio.Queue(CAPACITY)

        async def source() -> None:
            for number in range(PIPELINE_COUNT):
                await first.put(Message(number))

        async def relay() -> None:
            for _ in range(PIPELINE_COUNT):
                await second.put(await first.get())

        async def sink() -> int:
            for _ in range(PIPELINE_COUNT):
                await second.get()
            return PIPELINE_COUNT

        *_, got = await asyncio.gather(source(), relay(), sink())
        return got

    return asyncio.run(main())


def edge_redis(edges: RedisEdges) -> int:
    edge = edges.edge("bench:out->bench:in", CAPACITY, BLOCK)
    message = Message(1)
    for _ in range(REDIS_COUNT):
        edge.put(message)
        taken = edge.take(Lane.DATA)
        assert taken is not None
        edge.settle(taken)
    return REDIS_COUNT


def bare_redis(client: redis.Redis) -> int:
    """The same three round trips without any promise: push, move to a list of the consumer, remove."""
    for _ in range(REDIS_COUNT):
        client.rpush("bench", "1")
        client.lmove("bench", "bench:held", "LEFT", "RIGHT")
        client.lrem("bench:held", 1, "1")
    return REDIS_COUNT


def compare(title: str, rounds: int, goal: int, ways: dict[str, Callable[[], int]]) -> bool:
    """The first way is ours."""
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            began = time.perf_counter()
            count = way()
            rates[name].append(count / (time.perf_counter() - began))
    medians = {name: statistics.median(found) for name, found in rates.items()}
    ours = next(iter(medians.values()))
    print(f"\n{title} (goal {goal:,}/s)" if goal else f"\n{title}")
    for name, median in medians.items():
        print(f"  {name:<28} {median:>12,.0f}/s   ours is {ours / median:5.2f} ×")
    return ours >= goal


def idle_share(scheduler: Scheduler) -> float:
    thread = threading.Thread(target=scheduler.run)
    thread.start()
    while not scheduler.stats().waits:
        time.sleep(0.01)
    used = time.process_time()
    time.sleep(IDLE_SECONDS)
    share = (time.process_time() - used) / IDLE_SECONDS
    scheduler.shutdown()
    thread.join()
    return share


def idle_with_redis(client: redis.Redis) -> float:
    scheduler = Scheduler()
    scheduler.register(Sink("sink", scheduler))
    with RedisEdges(client, "bench") as edges:
        scheduler.connect("far:out", "sink:in", edge=edges.edge, remote=True)
        return idle_share(scheduler)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    good = compare(
        "put and get on one edge",
        rounds,
        250_000,
        {"MemoryEdge": edge_memory, "collections.deque": edge_deque, "asyncio.Queue": edge_asyncio},
    )
    good &= compare(
        "through three nodes",
        rounds,
        50_000,
        {"flow": pipeline_flow, "collections.deque": pipeline_deque, "asyncio.Queue": pipeline_asyncio},
    )
    with EmbeddedServer() as server, connect(server.url) as client:
        edges = RedisEdges(client, "bench")
        compare(
            "put, take and settle on an edge in Redis, one message at a time",
            rounds,
            0,
            {"RedisEdge": lambda: edge_redis(edges), "bare RPUSH, LMOVE, LREM": lambda: bare_redis(client)},
        )
        edges.close()
        client.flushall()
        idle = Scheduler()
        idle.register(Sink("sink", idle))
        shares = {"in memory": idle_share(idle), "on Redis edges": idle_with_redis(client)}
    print(f"\nprocessor used while idle, over {IDLE_SECONDS:.0f} s (goal: below 1 %)")
    for name, share in shares.items():
        print(f"  waiting {name:<20} {share:.2%}")
        good &= share < 0.01
    print("\nall goals met" if good else "\na goal was missed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

"""Four producers that offer more than four consumers can take, over edges of all four policies.

    python -m benchmarks.flow_overload --seconds 60

Prints the counts and the memory at the start, in the middle and at the end, checks that the counts are exact and
the memory flat, and exits with 1 if they are not. The tests run the same graph on a virtual clock.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import sys
import tracemalloc
from collections import Counter
from pathlib import Path

from marie_celery.clock import Clock, SystemClock
from marie_celery.flow import (
    BLOCK,
    DROP,
    LATEST,
    EdgeCounts,
    Kind,
    Message,
    Node,
    Policy,
    Port,
    Scheduler,
    SchedulerConfig,
    coalesce,
)

PRODUCERS = 4
CAPACITY = 32
BURST = 4
COMMAND_EVERY = 100
GROWTH_LIMIT = 256 * 1024
POLICIES = (BLOCK, DROP, LATEST, coalesce(lambda waiting, new: waiting + new))


class Producer(Node):
    """Every turn one number for the block edge and a burst for each lossy one; now and then a command."""

    inputs = (Port("next"),)
    outputs = (Port("next"), *(Port(policy.name) for policy in POLICIES))

    def __init__(self, name: str, command_every: int) -> None:
        super().__init__(name)
        self.command_every = command_every
        self.sent = 0
        self.commands = 0
        self.is_done = False

    def on_start(self) -> None:
        self.emit("next", None)

    def on_message(self, port: str, message: Message) -> None:
        if self.is_done:
            return
        self.emit("block", (self.name, self.sent))
        for number in range(self.sent * BURST, (self.sent + 1) * BURST):
            self.emit("drop", (self.name, number))
            self.emit("latest", (self.name, number))
            self.emit("coalesce", 1)
        if self.command_every and self.sent % self.command_every == 0:
            for policy in POLICIES:
                self.emit(policy.name, "command", kind=Kind.CONTROL)
            self.commands += 1
        self.sent += 1
        self.emit("next", None)


class Consumer(Node):
    inputs = (Port("in"),)

    def __init__(self, policy: Policy) -> None:
        super().__init__(f"take-{policy.name}")
        self.policy = policy
        self.commands = 0
        self.total = 0
        self.got: Counter[str] = Counter()
        self.last: dict[str, int] = {}
        self.disorder = 0

    def on_message(self, port: str, message: Message) -> None:
        if message.kind is Kind.CONTROL:
            self.commands += 1
        elif self.policy.name == "coalesce":
            self.total += message.payload
        else:
            producer, number = message.payload
            before = self.last.get(producer, -1)
            in_order = number == before + 1 if self.policy.name == "block" else number > before
            self.disorder += not in_order
            self.last[producer] = number
            self.got[producer] += 1


class Overload:
    def __init__(self, clock: Clock | None = None, command_every: int = COMMAND_EVERY) -> None:
        self.scheduler = Scheduler(SchedulerConfig(), clock=clock)
        self.producers = [Producer(f"p{number}", command_every) for number in range(PRODUCERS)]
        self.consumers = [Consumer(policy) for policy in POLICIES]
        for unit in (*self.producers, *self.consumers):
            self.scheduler.register(unit)
        for producer in self.producers:
            self.scheduler.connect(f"{producer.name}:next", f"{producer.name}:next", capacity=1, policy=DROP)
            for consumer in self.consumers:
                ends = f"{producer.name}:{consumer.policy.name}", f"{consumer.name}:in"
                self.scheduler.connect(*ends, capacity=CAPACITY, policy=consumer.policy)

    def end(self) -> list[str]:
        """Stops the producers, drains, and tells what is wrong."""
        for producer in self.producers:
            producer.is_done = True
        self.scheduler.shutdown()
        while self.scheduler.step() is not None:
            pass
        report = self.scheduler.finish()
        problems = [] if report.is_drained else [f"left behind: {report}"]
        nodes = self.scheduler.stats().nodes
        problems += [f"{one.name} was never blocked" for one in self.producers if not nodes[one.name].parked]
        for consumer in self.consumers:
            problems += self._check_consumer(consumer)
            for producer in self.producers:
                problems += self._check_edge(producer, consumer)
        return problems

    def counts(self, producer: Producer, consumer: Consumer) -> EdgeCounts:
        edge_id = f"{producer.name}:{consumer.policy.name}->{consumer.name}:in"
        return self.scheduler.stats().edges[edge_id].counts

    def _check_consumer(self, consumer: Consumer) -> list[str]:
        problems = [f"{consumer.name}: {consumer.disorder} out of order"] if consumer.disorder else []
        commands = sum(producer.commands for producer in self.producers)
        if consumer.commands != commands:
            problems.append(f"{consumer.name}: {consumer.commands} of {commands} commands")
        offered = sum(producer.sent for producer in self.producers) * BURST
        if consumer.policy.name == "coalesce" and consumer.total != offered:
            problems.append(f"{consumer.name}: {offered} were offered, {consumer.total} came together")
        return problems

    def _check_edge(self, producer: Producer, consumer: Consumer) -> list[str]:
        counts, policy = self.counts(producer, consumer), consumer.policy.name
        offered = producer.sent * (1 if policy == "block" else BURST)
        data = counts.accepted - producer.commands
        checks = {
            "accepted = taken + replaced": counts.accepted == counts.taken + counts.replaced,
            "offered = accepted + dropped + coalesced": offered == data + counts.dropped + counts.coalesced,
            "only its own kind of loss": {
                "block": not (counts.dropped or counts.replaced or counts.coalesced),
                "drop": not (counts.replaced or counts.coalesced),
                "latest": not (counts.dropped or counts.coalesced),
                "coalesce": not (counts.dropped or counts.replaced),
            }[policy],
        }
        if policy in ("block", "latest"):
            checks["the last one arrived"] = consumer.last.get(producer.name) == offered - 1
        if policy != "coalesce":
            checks["taken = handled"] = counts.taken == consumer.got[producer.name] + producer.commands
        edge = f"{producer.name} -> {consumer.name}"
        return [f"{edge}: not {text}: {counts}" for text, good in checks.items() if not good]


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def show(overload: Overload, when: str) -> int:
    gc.collect()
    traced = tracemalloc.get_traced_memory()[0]
    totals: Counter[str] = Counter()
    for consumer in overload.consumers:
        for producer in overload.producers:
            counts = overload.counts(producer, consumer)
            for field in ("accepted", "taken", "dropped", "replaced", "coalesced"):
                totals[field] += getattr(counts, field)
    nodes = overload.scheduler.stats().nodes
    totals["parked"] = sum(nodes[producer.name].parked for producer in overload.producers)
    books = "  ".join(f"{name} {number:>10,}" for name, number in totals.items())
    print(f"{when:<7} {books}  traced {traced / 1024:8.1f} KiB  resident {resident_bytes() / 2**20:6.1f} MiB")
    return traced


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    seconds = parser.parse_args().seconds
    clock = SystemClock()
    overload = Overload()
    overload.scheduler.start()
    tracemalloc.start()
    begins = clock.monotonic()

    def run_until(share: float) -> None:
        while clock.monotonic() - begins < seconds * share:
            for _ in range(1_000):
                overload.scheduler.step()

    traced = []
    # The start is measured when all edges and caches have filled.
    for when, share in (("start", 0.05), ("middle", 0.5), ("end", 1.0)):
        run_until(share)
        traced.append(show(overload, when))
    tracemalloc.stop()
    problems = overload.end()
    problems += [
        f"memory grew by {after - before} bytes"
        for before, after in itertools.pairwise(traced)
        if after - before > GROWTH_LIMIT
    ]
    for problem in problems:
        print(f"WRONG: {problem}")
    print("all counts are exact, the memory is flat" if not problems else f"{len(problems)} problem(s)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

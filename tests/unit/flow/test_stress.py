"""Much work at once, and for long; all of it in virtual time."""

from __future__ import annotations

import gc
import random
import tracemalloc

import pytest

from benchmarks.flow_overload import Overload
from marie_celery.clock import VirtualClock
from marie_celery.flow import DROP, LATEST, Band, Kind, Message, coalesce
from tests.unit.flow.flow_kit import Relay, Sink, Source, Spinner, Ticker, drive, feed, spin, virtual


def test_under_overload_block_edges_lose_nothing_and_the_others_count_exactly_what_they_lose() -> None:
    overload = Overload(VirtualClock())
    overload.scheduler.start()
    drive(overload.scheduler, turns=8_000)
    assert overload.end() == []
    totals = {
        consumer.policy.name: [overload.counts(producer, consumer) for producer in overload.producers]
        for consumer in overload.consumers
    }
    assert all(counts.dropped > 1_000 for counts in totals["drop"])
    assert all(counts.replaced > 1_000 for counts in totals["latest"])
    assert all(counts.coalesced > 1_000 for counts in totals["coalesce"])


def test_memory_is_flat_however_long_it_runs() -> None:
    overload = Overload(VirtualClock())
    overload.scheduler.start()
    drive(overload.scheduler, turns=1_000)
    tracemalloc.start()
    traced = []
    for _ in range(4):
        drive(overload.scheduler, turns=2_000)
        gc.collect()
        traced.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    # Everything that a leak of one object per turn would leave is beyond this by far.
    assert max(traced[1:]) - min(traced[1:]) < 32 * 1024, traced
    assert overload.end() == []


def test_an_hour_of_ticks_and_idling_leaves_nothing_behind() -> None:
    clock = VirtualClock()
    sink = Ticker("sink", tick_interval_ms=1_000)
    ticker = Ticker("ticker", lambda node: node.emit("out", node.ticks), tick_interval_ms=100)
    counter = Counting("counter")
    scheduler = virtual(ticker, sink, counter, clock=clock)
    scheduler.connect("ticker:out", "counter:in", capacity=4)
    scheduler.start()

    def pass_minutes(minutes: int) -> int:
        end = clock.monotonic() + 60 * minutes
        while clock.monotonic() < end:
            clock.advance(scheduler.step() or 0.0)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    pass_minutes(5)
    before = pass_minutes(5)
    after = pass_minutes(50)
    tracemalloc.stop()
    assert counter.count == ticker.ticks == pytest.approx(36_000, abs=1)
    assert after - before < 16 * 1024


class Counting(Sink):
    count = 0

    def on_message(self, port: str, message: Message) -> None:
        self.count += 1


def test_a_wide_graph_keeps_its_loop_latency_within_one_batch() -> None:
    """Eight chains at full speed; each message costs a tenth of a millisecond."""
    clock = VirtualClock()

    class Costly(Relay):
        def on_message(self, port: str, message: Message) -> None:
            clock.advance(0.0001)
            super().on_message(port, message)

    sinks = [Sink(f"sink{number}") for number in range(8)]
    units = [Source(f"source{number}", range(500)) for number in range(8)]
    relays = [Costly(f"relay{number}") for number in range(8)]
    scheduler = virtual(*units, *relays, *sinks, clock=clock, max_batch_per_node=16)
    for number in range(8):
        feed(scheduler, f"source{number}")
        scheduler.connect(f"source{number}:out", f"relay{number}:in", capacity=10)
        scheduler.connect(f"relay{number}:out", f"sink{number}:in", capacity=10)
    scheduler.start()
    drive(scheduler, turns=100_000)
    assert all(sink.got == list(range(500)) for sink in sinks)
    assert scheduler.stats().longest_turn_s <= 16 * 0.0001 + 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_nobody_starves_whatever_the_pattern_of_bands_and_bursts(seed: int) -> None:
    """Random loads in all bands come and go; a node with work is never passed over for long."""
    dice = random.Random(seed)
    sinks = [Sink(f"sink{number}") for number in range(6)]
    spinners = [Spinner(f"spinner{number}") for number in range(6)]
    scheduler = virtual(*sinks, *spinners, max_batch_per_node=dice.choice([1, 4, 16]))
    for spinner in spinners:
        spin(scheduler, spinner.name, dice.choice([0, 50, 100]))
    for sink in sinks:
        policy = dice.choice([DROP, LATEST, coalesce(max)])
        scheduler.inlet(f"{sink.name}:in", priority=dice.choice([0, 50, 100]), policy=policy, capacity=1)
    scheduler.start()
    for _ in range(40):
        drive(scheduler, turns=dice.randrange(1, 60))
        lucky = dice.choice(sinks)
        before = len(lucky.got)
        kind = dice.choice([Kind.DATA, Kind.CONTROL])
        scheduler.inject(lucky.name, "in", Message(1, kind))
        if dice.random() < 0.3:
            name = dice.choice(spinners).name
            scheduler.set_priority(f"{name}:spin->{name}:spin", dice.choice([0, 50, 100]))
        # The lowest band is served at least every twelfth turn, and at most eleven others stand before it there.
        drive(scheduler, turns=12 * 12)
        assert len(lucky.got) == before + 1


def test_a_control_message_is_handled_within_two_turns_under_full_overload() -> None:
    overload = Overload(VirtualClock(), command_every=0)
    sink = Sink("switch")
    overload.scheduler.register(sink)
    overload.scheduler.start()
    for number in range(300):
        drive(overload.scheduler, turns=1 + number % 7)
        overload.scheduler.inject("switch", "in", Message(number, Kind.CONTROL))
        drive(overload.scheduler, turns=2)
        assert sink.got[-1] == number
    assert overload.scheduler.stats().turns[Band.CONTROL] >= 300
    assert overload.end() == []

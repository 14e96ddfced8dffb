from __future__ import annotations

from typing import Any

import pytest

from marie_celery.clock import VirtualClock
from marie_celery.flow import (
    BLOCK,
    DROP,
    LATEST,
    Kind,
    Message,
    NotAccepting,
    Policy,
    Scheduler,
    coalesce,
    retry,
)
from tests.unit.flow.flow_kit import Burst, Relay, Sink, Source, Ticker, drive, feed, virtual
from tests.unit.flow.test_backpressure import LateSink

POLICIES = [BLOCK, DROP, LATEST, coalesce(max)]


def test_a_shutdown_before_the_run_starts_and_stops_all_the_same() -> None:
    sink = Sink("sink")
    scheduler = virtual(sink)
    scheduler.shutdown()
    scheduler.shutdown()
    assert scheduler.run().is_drained


def test_a_shutdown_of_a_scheduler_that_nobody_runs_changes_nothing() -> None:
    scheduler = Scheduler()
    scheduler.shutdown()
    assert scheduler.stats().turns == {}


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_what_is_ready_is_drained_on_every_kind_of_edge(policy: Policy) -> None:
    sink = Sink("sink")
    scheduler = virtual(Burst("burst", range(5)), sink)
    scheduler.connect("burst:out", "sink:in", capacity=8, policy=policy)
    scheduler.inject("burst", "go", None)
    scheduler.shutdown()
    report = scheduler.run()
    assert sink.got == list(range(5))
    assert report.is_drained
    assert report.drain_seconds == 0.0


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
@pytest.mark.parametrize("kind", [Kind.DATA, Kind.CONTROL])
def test_a_message_in_hand_is_waited_for_whatever_edge_it_came_from(policy: Policy, kind: Kind) -> None:
    clock = VirtualClock()
    late = LateSink("late", delay_ms=5_000)
    scheduler = virtual(late, clock=clock, shutdown_timeout_s=60)
    scheduler.inlet("late:in", capacity=8, policy=policy)
    scheduler.start()
    for number in range(3):
        scheduler.inject("late", "in", Message(number, kind))
    drive(scheduler)
    scheduler.shutdown()
    while (pause := scheduler.step()) is not None:
        clock.advance(pause)
    assert scheduler.finish().is_drained
    assert late.got == [0, 1, 2]
    assert clock.monotonic() == pytest.approx(5)


def test_ticks_end_with_the_request_to_stop() -> None:
    clock = VirtualClock()
    ticker = Ticker("ticker", tick_interval_ms=10)
    late = LateSink("late", delay_ms=1_000)
    scheduler = virtual(ticker, late, clock=clock)
    scheduler.inject("late", "in", 1)
    scheduler.start()
    while ticker.ticks < 3:
        clock.advance(scheduler.step() or 0.0)
    scheduler.shutdown()
    while (pause := scheduler.step()) is not None:
        clock.advance(pause)
    scheduler.finish()
    assert (ticker.ticks, late.got) == (3, [1])


def test_a_tick_that_is_due_when_the_stop_is_requested_does_not_come() -> None:
    clock = VirtualClock()
    ticker = Ticker("ticker", tick_interval_ms=10)
    scheduler = virtual(ticker, clock=clock)
    scheduler.start()
    clock.advance(0.010)
    scheduler.shutdown()
    assert scheduler.step() is None
    assert ticker.ticks == 0


def test_after_the_request_nothing_comes_in_and_that_is_said_aloud() -> None:
    sink = Sink("sink")
    scheduler = virtual(sink)
    scheduler.start()
    scheduler.inject("sink", "in", 1)
    scheduler.shutdown()
    drive(scheduler)
    with pytest.raises(NotAccepting, match="outside:in->sink:in"):
        scheduler.inject("sink", "in", 2)
    assert scheduler.finish().is_drained
    assert sink.got == [1]


def test_without_patience_everything_is_left_and_reported() -> None:
    scheduler = virtual(Sink("sink"), shutdown_timeout_s=0)
    for number in range(3):
        scheduler.inject("sink", "in", number)
    scheduler.shutdown()
    report = scheduler.run()
    assert report.left_in_edges == {"outside:in->sink:in": 3}
    assert not report.is_drained


def test_what_a_node_could_not_deliver_is_reported_by_its_name(caplog: pytest.LogCaptureFixture) -> None:
    class Stuck(Sink):
        def on_message(self, port: str, message: Message) -> None:
            raise ConnectionError("away")

    stuck = Stuck("stuck", error_policy=retry(1_000, delay_ms=60_000))
    scheduler = virtual(Burst("burst", range(3)), stuck, shutdown_timeout_s=2)
    scheduler.connect("burst:out", "stuck:in", capacity=3)
    for _ in range(3):
        scheduler.inject("burst", "go", None)
    scheduler.shutdown()
    report = scheduler.run()
    assert report.left_in_nodes == {"burst": 3, "stuck": 1}
    assert report.left_in_edges == {"burst:out->stuck:in": 2, "outside:go->burst:go": 1}
    assert report.drain_seconds == 2.0
    assert "left in edges" in caplog.text


def test_a_source_that_feeds_itself_is_cut_off_by_the_time_out() -> None:
    clock = VirtualClock()

    class Slow(Sink):
        def on_message(self, port: str, message: Message) -> None:
            clock.advance(0.1)

    scheduler = virtual(Source("source", range(100_000)), Slow("slow"), clock=clock, shutdown_timeout_s=3)
    feed(scheduler, "source")
    scheduler.connect("source:out", "slow:in", capacity=4)
    scheduler.shutdown()
    report = scheduler.run()
    # The last turn may not be cut short, and a turn is a batch of at most 16.
    assert 3.0 <= report.drain_seconds <= 3.0 + 16 * 0.1
    assert not report.is_drained


def test_a_callback_may_ask_for_the_end_and_what_it_emits_is_still_delivered() -> None:
    class Last(Relay):
        def on_message(self, port: str, message: Message) -> None:
            super().on_message(port, message)
            scheduler.shutdown()

    sink = Sink("sink")
    scheduler = virtual(Last("last"), sink)
    scheduler.connect("last:out", "sink:in")
    scheduler.inject("last", "in", "bye")
    scheduler.run()
    assert sink.got == ["bye"]


def test_finishing_twice_stops_the_nodes_once() -> None:
    stopped: list[Any] = []

    class Once(Sink):
        def on_stop(self) -> None:
            stopped.append(self.name)

    scheduler = virtual(Once("a"), Once("b"))
    scheduler.start()
    scheduler.finish()
    scheduler.finish()
    assert stopped == ["b", "a"]

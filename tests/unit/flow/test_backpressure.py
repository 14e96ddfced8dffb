from __future__ import annotations

from typing import Any, ClassVar

import pytest

from marie_celery.clock import VirtualClock
from marie_celery.flow import EmitRefused, Message, PutResult, Scheduler, coalesce, retry
from tests.unit.flow.edge_contract import refuse
from tests.unit.flow.flow_kit import Burst, Recorder, Relay, Sink, Source, Ticker, drive, feed, live, virtual

MINUTE_MS = 60_000


class LateSink(Sink):
    """Turns away its first message, so that with a retry policy it is busy with it for a while."""

    def __init__(self, name: str, delay_ms: float = MINUTE_MS) -> None:
        super().__init__(name, error_policy=retry(1, delay_ms=delay_ms))
        self.attempts = 0

    def on_message(self, port: str, message: Message) -> None:
        self.attempts += 1
        if self.attempts == 1:
            raise ConnectionError("not yet")
        super().on_message(port, message)


def blocked_source(clock: VirtualClock, **settings: Any) -> tuple[Scheduler, Source, LateSink]:
    """A source that stands still, because the sink is away for a minute."""
    source, late = Source("source", range(10)), LateSink("late")
    scheduler = virtual(source, late, clock=clock, **settings)
    feed(scheduler, "source")
    scheduler.connect("source:out", "late:in", capacity=2)
    scheduler.start()
    drive(scheduler)
    assert scheduler.stats().nodes["source"].is_blocked
    return scheduler, source, late


@pytest.mark.parametrize("capacity", [1, 2, 7, 64])
def test_a_producer_yields_its_consumer_runs_and_the_producer_goes_on(capacity: int) -> None:
    source, sink = Source("source", range(300)), Sink("sink")
    recorder = Recorder()
    scheduler = virtual(source, sink, metrics=recorder)
    feed(scheduler, "source")
    scheduler.connect("source:out", "sink:in", capacity=capacity)
    scheduler.start()
    drive(scheduler)
    assert sink.got == list(range(300))
    depths = [depth for edge, _, depth in recorder.of("enqueued") if edge == "source:out->sink:in"]
    assert max(depths) == min(capacity, 16)


def test_a_slow_consumer_sets_the_pace_of_its_producer() -> None:
    class Slow(Sink):
        def on_message(self, port: str, message: Message) -> None:
            clock.advance(0.010)
            super().on_message(port, message)

    clock, slow = VirtualClock(), Slow("slow")
    source = Source("source", range(1_000))
    scheduler = virtual(source, slow, clock=clock, max_batch_per_node=4)
    feed(scheduler, "source")
    scheduler.connect("source:out", "slow:in", capacity=8)
    scheduler.start()
    for _ in range(200):
        scheduler.step()
        # In the edge, in the outbox of the parked source, and no further ahead.
        assert source.sent - len(slow.got) <= 8 + 1
    assert len(slow.got) == pytest.approx(clock.monotonic() / 0.010)
    assert len(slow.got) > 300


def test_nobody_polls_while_a_consumer_is_away() -> None:
    clock = VirtualClock()
    scheduler, source, late = blocked_source(clock, idle_sleep_ms=10 * MINUTE_MS)
    turns, sent = scheduler.stats().turns, source.sent

    assert scheduler.step() == 60.0
    assert (scheduler.stats().turns, source.sent) == (turns, sent)

    clock.advance(60.0)
    drive(scheduler)
    assert late.got == list(range(10))
    assert scheduler.stats().nodes["source"].blocked_s == 60.0


def test_more_capacity_resumes_a_blocked_producer() -> None:
    scheduler, source, _ = blocked_source(VirtualClock())
    sent = source.sent
    scheduler.set_capacity("source:out->late:in", 4)
    drive(scheduler)
    assert source.sent == sent + 2
    assert scheduler.stats().nodes["source"].is_blocked


def test_a_group_larger_than_its_edge_waits_until_the_edge_is_empty_and_then_passes_whole() -> None:
    burst, sink = Burst("burst", range(10)), Sink("sink")
    recorder = Recorder()
    scheduler = virtual(burst, sink, metrics=recorder, max_batch_per_node=1)
    scheduler.connect("burst:out", "sink:in", capacity=3)
    scheduler.start()
    for _ in range(3):
        scheduler.inject("burst", "go", None)
    drive(scheduler)
    assert sink.got == list(range(10)) * 3
    puts = [(count, depth) for edge, count, depth in recorder.of("enqueued") if edge == "burst:out->sink:in"]
    assert puts == [(10, 10)] * 3


def test_a_group_that_waits_when_its_edge_is_shrunk_still_passes() -> None:
    late = LateSink("late")
    scheduler = virtual(Burst("burst", range(4)), late, clock=(clock := VirtualClock()))
    scheduler.connect("burst:out", "late:in", capacity=5)
    scheduler.start()
    for _ in range(3):
        scheduler.inject("burst", "go", None)
    drive(scheduler)
    scheduler.set_capacity("burst:out->late:in", 1)
    live(scheduler, clock, seconds=60)
    assert late.got == list(range(4)) * 3


def test_fan_out_to_a_full_and_an_empty_edge_delivers_to_neither() -> None:
    clock = VirtualClock()
    late, quick = LateSink("late"), Sink("quick")
    source = Source("source", range(10))
    scheduler = virtual(source, late, quick, clock=clock)
    feed(scheduler, "source")
    scheduler.connect("source:out", "late:in", capacity=2)
    scheduler.connect("source:out", "quick:in", capacity=100)
    scheduler.start()
    drive(scheduler)
    # The late one holds one message, two wait for it, and one is in the outbox.
    assert (source.sent, quick.got) == (4, [0, 1, 2])
    clock.advance(60)
    drive(scheduler)
    assert (late.got, quick.got) == (list(range(10)), list(range(10)))


def test_a_merge_that_fails_holds_back_the_whole_group() -> None:
    sums, rest = LateSink("sums"), Sink("rest")
    scheduler = virtual(Burst("burst", [1], other=["a"]), sums, rest, clock=(clock := VirtualClock()))
    scheduler.connect("burst:out", "sums:in", capacity=1, policy=coalesce(refuse))
    scheduler.connect("burst:other", "rest:in")
    scheduler.start()
    for _ in range(4):
        scheduler.inject("burst", "go", None)
    drive(scheduler)
    assert rest.got == ["a", "a"]
    clock.advance(60)
    drive(scheduler)
    assert (sums.got, rest.got) == ([1] * 4, ["a"] * 4)


def test_what_a_failing_callback_had_emitted_is_not_delivered() -> None:
    class Torn(Burst):
        def on_message(self, port: str, message: Message) -> None:
            super().on_message(port, message)
            if message.payload == "bad":
                raise RuntimeError("after the emits")

    sink = Sink("sink")
    scheduler = virtual(Torn("torn", [1, 2]), sink)
    scheduler.connect("torn:out", "sink:in")
    scheduler.start()
    for payload in ("good", "bad", "good"):
        scheduler.inject("torn", "go", payload)
    drive(scheduler)
    assert sink.got == [1, 2, 1, 2]


def test_a_blocked_ticker_gets_one_tick_when_it_can_go_on_not_all_that_it_missed() -> None:
    clock = VirtualClock()
    ticker = Ticker("ticker", lambda node: node.emit("out", node.ticks), tick_interval_ms=1_000)
    late = LateSink("late")
    scheduler = virtual(ticker, late, clock=clock)
    scheduler.connect("ticker:out", "late:in", capacity=1)
    scheduler.start()
    # Tick 1 is with the late one, 2 in the edge, 3 in the outbox; the late one is back after 61 s.
    live(scheduler, clock, seconds=60.5)
    assert ticker.ticks == 3
    assert scheduler.stats().nodes["ticker"].turns == 3
    live(scheduler, clock, seconds=1.0)
    assert ticker.ticks == 4
    live(scheduler, clock, seconds=1.0)
    assert late.got == [1, 2, 3, 4, 5]


def test_a_start_may_emit_more_than_there_is_room_for() -> None:
    class Eager(Burst):
        def on_start(self) -> None:
            for _ in range(2):
                self.emit("out", "early")
            self.emit("out", "bird")

    sink = Sink("sink")
    scheduler = virtual(sink, Eager("eager", []))
    scheduler.connect("eager:out", "sink:in", capacity=1)
    scheduler.start()
    drive(scheduler)
    assert sink.got == ["early", "early", "bird"]


def test_a_source_that_asks_for_room_is_never_parked() -> None:
    class Polite(Burst):
        def on_message(self, port: str, message: Message) -> None:
            self.rooms.append(self.room("out"))
            while self.room("out"):
                self.emit("out", self.calls)
                self.calls += 1

        rooms: ClassVar[list[int]] = []

    polite, sinks = Polite("polite", []), [Sink("a"), Sink("b")]
    scheduler = virtual(polite, *sinks, max_batch_per_node=4)
    scheduler.connect("polite:out", "a:in", capacity=5)
    scheduler.connect("polite:out", "b:in", capacity=3)
    scheduler.start()
    for _ in range(4):
        scheduler.inject("polite", "go", None)
    drive(scheduler)
    assert polite.rooms == [3, 0, 0, 0]
    assert sinks[0].got == sinks[1].got == [0, 1, 2]
    assert scheduler.stats().nodes["polite"].parked == 0


def test_there_is_no_room_at_an_unconnected_port_and_no_unknown_one() -> None:
    class Asking(Burst):
        def on_message(self, port: str, message: Message) -> None:
            answers.append(self.room("out"))
            self.room("nowhere")

    answers: list[int] = []
    recorder = Recorder()
    scheduler = virtual(Asking("asking", []), metrics=recorder)
    scheduler.start()
    scheduler.inject("asking", "go", None)
    drive(scheduler)
    assert answers == [0]
    assert isinstance(recorder.of("failed")[0][2], LookupError)


def test_emitting_outside_of_a_callback_is_refused() -> None:
    relay = Relay("relay")
    scheduler = virtual(relay)
    scheduler.start()
    scheduler.inject("relay", "in", 1)
    drive(scheduler)
    with pytest.raises(EmitRefused, match="relay"):
        relay.emit("out", 1)
    with pytest.raises(EmitRefused, match="inject"):
        relay.room("out")


def test_inject_meets_the_same_limits_as_everybody() -> None:
    scheduler = virtual(Sink("sink"))
    scheduler.inlet("sink:in", capacity=2)
    assert [scheduler.inject("sink", "in", n) for n in range(3)] == [
        PutResult.OK,
        PutResult.OK,
        PutResult.BLOCKED,
    ]

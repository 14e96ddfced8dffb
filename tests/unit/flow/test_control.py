from __future__ import annotations

from typing import Any

import pytest

from marie_celery.clock import VirtualClock
from marie_celery.flow import Band, Kind, Message, Node, Port, Scheduler, retry
from tests.unit.flow.flow_kit import (
    Burst,
    Recorder,
    Relay,
    Sink,
    Source,
    Spinner,
    Ticker,
    drive,
    feed,
    spin,
    virtual,
)
from tests.unit.flow.test_backpressure import LateSink, blocked_source


def command(text: str) -> Message:
    return Message(text, Kind.CONTROL)


def loaded(sink: Sink, spinners: int = 20) -> Scheduler:
    """Every band of data always has work, the sink's own input too."""
    scheduler = virtual(*(Spinner(f"n{n}") for n in range(spinners)), Spinner("h"), sink)
    for number in range(spinners):
        spin(scheduler, f"n{number}")
    spin(scheduler, "h", Band.HIGH)
    scheduler.start()
    for number in range(64):
        scheduler.inject("sink", "in", number)
    return scheduler


@pytest.mark.parametrize("warm_up", range(40))
def test_a_control_message_is_handled_within_two_turns_at_full_load(warm_up: int) -> None:
    sink = Sink("sink")
    scheduler = loaded(sink)
    drive(scheduler, turns=warm_up)
    scheduler.inject("sink", "in", command("stop"))
    drive(scheduler, turns=2)
    assert "stop" in sink.got


def test_a_stream_of_control_messages_is_handled_within_two_turns_each() -> None:
    sink = Sink("sink")
    scheduler = loaded(sink)
    for number in range(200):
        scheduler.inject("sink", "in", command(f"c{number}"))
        drive(scheduler, turns=2)
        assert f"c{number}" in sink.got


def test_a_kill_switch_works_while_the_data_plane_is_full() -> None:
    class Switchable(Source):
        inputs = (Port("next"), Port("control"))

        def on_message(self, port: str, message: Message) -> None:
            if port == "control":
                self.items = self.items[: self.sent]
            elif self.sent < len(self.items):
                super().on_message(port, message)

    class Switch(Node):
        outputs = (Port("off"),)
        tick_interval_ms = 1_000

        def on_tick(self) -> None:
            self.emit("off", "off")

    clock = VirtualClock()

    class Slow(Sink):
        def on_message(self, port: str, message: Message) -> None:
            clock.advance(0.010)
            super().on_message(port, message)

    source, slow = Switchable("source", range(100_000)), Slow("slow")
    scheduler = virtual(source, slow, Switch("switch"), clock=clock)
    feed(scheduler, "source")
    scheduler.connect("source:out", "slow:in", capacity=50)
    scheduler.connect("switch:off", "source:control", priority=Band.CONTROL)
    scheduler.start()
    drive(scheduler)
    # The switch is thrown at 1 s, after about 100 messages; what was under way still arrives.
    assert 100 <= len(slow.got) <= 100 + 50 + 2 * 16
    assert slow.got == list(range(source.sent))


def test_control_ends_a_turn_of_data_in_the_middle_of_its_batch() -> None:
    class Commanding(Sink):
        def on_message(self, port: str, message: Message) -> None:
            super().on_message(port, message)
            if message.payload == 3:
                scheduler.inject("sink", "in", command("now"))

    sink = Commanding("sink")
    scheduler = virtual(sink, max_batch_per_node=100)
    scheduler.start()
    for number in range(50):
        scheduler.inject("sink", "in", number)
    drive(scheduler)
    assert sink.got == [0, 1, 2, 3, "now", *range(4, 50)]


def test_control_that_waits_already_does_not_cut_the_turns_of_data_short() -> None:
    sink = Sink("sink")
    scheduler = virtual(sink, Spinner("c"), max_batch_per_node=8)
    spin(scheduler, "c", Band.CONTROL)
    scheduler.start()
    for number in range(64):
        scheduler.inject("sink", "in", number)
    drive(scheduler, turns=100)
    assert scheduler.stats().nodes["sink"].turns == 64 // 8


@pytest.mark.parametrize("as_edge", [True, False], ids=["control edge", "control message"])
def test_control_inputs_of_a_node_go_before_all_its_data(as_edge: bool) -> None:
    sink = Sink("sink")
    scheduler = virtual(sink, max_batch_per_node=3)
    scheduler.inlet("sink:control", priority=Band.CONTROL if as_edge else Band.NORMAL)
    for number in range(10):
        scheduler.inject("sink", "in", number)
    for number in range(10):
        message = Message(f"c{number}", Kind.DATA if as_edge else Kind.CONTROL)
        scheduler.inject("sink", "control", message)
    scheduler.start()
    drive(scheduler)
    assert sink.got == [f"c{number}" for number in range(10)] + list(range(10))


def test_high_and_normal_inputs_of_one_node_share_so_that_neither_starves() -> None:
    sink = Sink("sink")
    scheduler = virtual(sink, max_batch_per_node=1)
    scheduler.inlet("sink:in", priority=Band.NORMAL)
    scheduler.inlet("sink:control", priority=Band.HIGH)
    for number in range(60):
        scheduler.inject("sink", "in", number)
        scheduler.inject("sink", "control", number)
    scheduler.start()
    drive(scheduler, turns=60)
    assert (sink.ports[0], sink.ports.count("control"), sink.ports.count("in")) == ("control", 40, 20)


def test_the_band_of_a_node_is_that_of_its_most_urgent_input() -> None:
    served: list[str] = []
    rival = Spinner("rival", served.append)

    class Mixed(Sink):
        def on_message(self, port: str, message: Message) -> None:
            served.append(port)

    scheduler = virtual(rival, Mixed("mixed"), max_batch_per_node=1)
    scheduler.inlet("mixed:control", priority=Band.HIGH)
    spin(scheduler, "rival", Band.NORMAL)
    scheduler.start()
    for number in range(4):
        scheduler.inject("mixed", "control", number)
    drive(scheduler, turns=6)
    assert sorted(served) == ["control"] * 4 + ["rival"] * 2


def test_a_node_whose_output_is_blocked_still_obeys_control() -> None:
    class Obedient(Relay):
        def on_message(self, port: str, message: Message) -> None:
            if message.kind is Kind.CONTROL:
                obeyed.append(message.payload)
            else:
                super().on_message(port, message)

    obeyed: list[Any] = []
    clock, late = VirtualClock(), LateSink("late")
    scheduler = virtual(Obedient("relay"), late, clock=clock)
    scheduler.connect("relay:out", "late:in", capacity=1)
    scheduler.start()
    for number in range(6):
        scheduler.inject("relay", "in", number)
    drive(scheduler)
    assert scheduler.stats().nodes["relay"].is_blocked

    scheduler.inject("relay", "in", command("report"))
    drive(scheduler)
    assert obeyed == ["report"]
    assert scheduler.stats().nodes["relay"].is_blocked

    clock.advance(60)
    drive(scheduler)
    assert late.got == list(range(6))


def test_a_node_that_waits_to_retry_still_obeys_control() -> None:
    class Failing(Sink):
        def on_message(self, port: str, message: Message) -> None:
            if message.payload == "bad":
                raise RuntimeError("bad")
            super().on_message(port, message)

    failing = Failing("failing", error_policy=retry(5, delay_ms=10_000))
    scheduler = virtual(failing)
    scheduler.start()
    for payload in ("bad", "data behind it"):
        scheduler.inject("failing", "in", payload)
    drive(scheduler)
    scheduler.inject("failing", "in", command("report"))
    drive(scheduler)
    assert failing.got == ["report"]


def test_a_control_handler_that_cannot_deliver_waits_like_everybody_and_loses_nothing() -> None:
    clock, late = VirtualClock(), LateSink("late")
    scheduler = virtual(Relay("relay"), late, clock=clock)
    scheduler.connect("relay:out", "late:in", capacity=1)
    scheduler.start()
    for number in range(4):
        scheduler.inject("relay", "in", number)
        scheduler.inject("relay", "in", command(f"c{number}"))
    drive(scheduler)
    clock.advance(60)
    drive(scheduler)
    assert sorted(late.got, key=str) == [0, 1, 2, 3, "c0", "c1", "c2", "c3"]


def test_a_consumer_in_the_way_of_urgent_work_is_served_in_its_band() -> None:
    """Without it, the one slow lane among fifty normal nodes would set the pace of the urgent source."""
    spinners = [Spinner(f"n{number}") for number in range(50)]
    sink = Sink("sink")
    scheduler = virtual(*spinners, Relay("first"), Relay("second"), sink, max_batch_per_node=1)
    for spinner in spinners:
        spin(scheduler, spinner.name)
    scheduler.inlet("first:in", priority=Band.HIGH)
    scheduler.connect("first:out", "second:in", capacity=1)
    scheduler.connect("second:out", "sink:in", capacity=1)
    for number in range(40):
        scheduler.inject("first", "in", number)
    scheduler.start()
    drive(scheduler, turns=300)
    # Three hops of 40 messages in the high band's two thirds; at one turn in fifty it would be two or three.
    assert sink.got[:35] == list(range(35))


def test_urgency_is_lent_on_by_a_node_that_is_blocked_itself() -> None:
    """The relay was blocked with work of its own band before the urgent source came to stand behind it."""
    recorder, late = Recorder(), LateSink("late")
    clock = VirtualClock()
    scheduler = virtual(Relay("urgent"), Relay("relay"), late, Spinner("rival"),
                        clock=clock, metrics=recorder, max_batch_per_node=1)  # fmt: skip
    spin(scheduler, "rival")
    scheduler.inlet("urgent:in", priority=Band.HIGH)
    scheduler.connect("urgent:out", "relay:in", capacity=1)
    scheduler.connect("relay:out", "late:in", capacity=1)
    scheduler.start()
    for number in range(4):
        scheduler.inject("relay", "in", number)
    drive(scheduler, turns=50)
    assert scheduler.stats().nodes["relay"].is_blocked
    for number in range(3):
        scheduler.inject("urgent", "in", f"urgent {number}")
    drive(scheduler, turns=50)
    assert scheduler.stats().nodes["urgent"].is_blocked
    recorder.calls.clear()
    clock.advance(60)
    drive(scheduler, turns=50)
    assert late.got[:2] == [0, 1]
    assert len(late.got) == 7
    bands = [band for node, band, _, _ in recorder.of("turn") if node == "late"]
    assert bands[0] is Band.HIGH
    assert bands[-1] is Band.NORMAL


def test_borrowed_urgency_ends_with_the_need_for_it() -> None:
    sink, recorder = Sink("sink"), Recorder()
    scheduler = virtual(Relay("relay"), sink, Spinner("rival"), max_batch_per_node=1, metrics=recorder)
    scheduler.inlet("relay:in", priority=Band.HIGH)
    scheduler.connect("relay:out", "sink:in", capacity=2)
    spin(scheduler, "rival")
    scheduler.start()
    for number in range(4):
        scheduler.inject("relay", "in", number)
    while len(sink.got) < 4:
        scheduler.step()
    # The relay is blocked twice, with its third and its fourth message.
    bands = [band for node, band, _, _ in recorder.of("turn") if node == "sink"]
    assert bands == [Band.HIGH, Band.HIGH, Band.NORMAL, Band.NORMAL]


def test_data_keeps_its_order_when_its_edge_becomes_a_control_edge_in_mid_stream() -> None:
    clock = VirtualClock()
    scheduler, source, late = blocked_source(clock)
    relay_in = "outside:in->late:in"
    assert source.sent > 2
    scheduler.set_priority("source:out->late:in", Band.CONTROL)
    scheduler.set_priority(relay_in, Band.CONTROL)
    drive(scheduler)
    assert late.got == []
    clock.advance(60)
    drive(scheduler)
    assert late.got == list(range(10))


def test_an_override_lifts_a_node_that_only_ticks() -> None:
    def turns_of_the_clock(priority: int | None) -> int:
        clock = VirtualClock()
        spinners = [Spinner(f"n{n}", lambda _: clock.advance(0.001)) for n in range(30)]
        ticker = Ticker("clock", tick_interval_ms=2, priority_override=priority)
        scheduler = virtual(*spinners, ticker, clock=clock, max_batch_per_node=1)
        for spinner in spinners:
            spin(scheduler, spinner.name)
        scheduler.start()
        drive(scheduler, turns=310)
        return ticker.ticks

    # Due again after two turns of others, and then thirty nodes are before it: every 33rd turn is its own.
    assert turns_of_the_clock(None) == 310 // 33
    assert turns_of_the_clock(Band.HIGH) > 90


def test_a_burst_that_mixes_control_and_data_arrives_with_control_first() -> None:
    sink = Sink("sink")
    scheduler = virtual(Burst("burst", [1, 2, command("first"), 3]), sink)
    scheduler.connect("burst:out", "sink:in")
    scheduler.inject("burst", "go", None)
    scheduler.start()
    drive(scheduler)
    assert sink.got == ["first", 1, 2, 3]

"""Edges with one end elsewhere, as the runtime treats them. The real ones are tested with a server."""

from __future__ import annotations

from typing import Any

import pytest

from marie_celery.clock import VirtualClock
from marie_celery.flow import (
    BLOCK,
    DROP,
    Code,
    Lane,
    Message,
    Node,
    Policy,
    Port,
    PortTypeError,
    Scheduler,
    retry,
)
from tests.unit.flow.far_edge import FarStore
from tests.unit.flow.flow_kit import Burst, Recorder, Relay, Sink, Source, drive, feed, live, virtual
from tests.unit.flow.test_backpressure import LateSink


def store(capacity: int = 4, policy: Policy = BLOCK) -> FarStore:
    return FarStore(capacity, policy)


def sending(far: FarStore, node: Node, **options: Any) -> Scheduler:
    scheduler = virtual(node, **options)
    if isinstance(node, Source):
        feed(scheduler, node.name)
    scheduler.connect(f"{node.name}:out", "there:in", edge=far.end, remote=True)
    scheduler.start()
    return scheduler


def receiving(far: FarStore, node: Node, **options: Any) -> Scheduler:
    scheduler = virtual(node, **options)
    scheduler.connect("elsewhere:out", f"{node.name}:in", edge=far.end, remote=True)
    scheduler.start()
    return scheduler


def test_a_graph_over_two_schedulers_has_one_backpressure() -> None:
    far, source, sink = store(), Source("here", range(50)), Sink("there")
    sender, receiver = sending(far, source), receiving(far, sink)
    drive(sender)
    assert sender.stats().nodes["here"].is_blocked
    assert source.sent == 5
    while len(sink.got) < 50:
        for end, scheduler in zip(far.ends, (sender, receiver), strict=True):
            end.tell()
            drive(scheduler)
        assert far.buffer.depth(Lane.DATA) <= 4
    assert sink.got == list(range(50))
    assert far.unsettled == []


def test_a_message_is_settled_when_all_that_came_of_it_was_delivered_and_not_before() -> None:
    far, late = store(), LateSink("late")
    clock = VirtualClock()
    scheduler = virtual(Relay("relay"), late, clock=clock)
    scheduler.connect("elsewhere:out", "relay:in", edge=far.end, remote=True)
    scheduler.connect("relay:out", "late:in", capacity=1)
    far.buffer.put_all([Message(number) for number in range(4)])
    scheduler.start()
    drive(scheduler)
    # One is in the hands of the late one, one in the edge, one in the relay's outbox.
    assert [message.payload for message in far.unsettled] == [2]
    clock.advance(60)
    drive(scheduler)
    assert far.unsettled == []
    assert late.got == [0, 1, 2, 3]


def test_what_was_not_settled_when_the_consumer_died_reaches_the_next_one() -> None:
    far = store()
    far.buffer.put_all([Message(number) for number in range(4)])
    dying = LateSink("sink")
    drive(receiving(far, dying))
    assert len(far.unsettled) == 1
    far.hand_out_again()
    heir = Sink("heir")
    drive(receiving(far, heir))
    assert heir.got == [0, 1, 2, 3]


def test_a_busy_loop_hears_of_the_far_side_in_its_next_turn() -> None:
    far, sink = store(), Sink("sink")
    scheduler = receiving(far, sink)
    far.buffer.put(Message("news"))
    refreshes = far.refreshes
    assert scheduler.step() != 0.0
    far.ends[0].tell()
    drive(scheduler)
    assert sink.got == ["news"]
    assert far.refreshes == refreshes + 1


def test_without_a_word_from_the_far_side_it_is_looked_at_on_a_slow_cadence() -> None:
    far, sink, clock = store(), Sink("sink"), VirtualClock()
    scheduler = receiving(far, sink, clock=clock, idle_sleep_ms=500)
    refreshes = far.refreshes
    far.buffer.put(Message("news"))
    live(scheduler, clock, seconds=5)
    assert sink.got == ["news"]
    assert far.refreshes == refreshes + 10


def test_a_wait_that_something_ended_is_followed_by_a_look_outside() -> None:
    far, sink, clock = store(), Sink("sink"), VirtualClock()
    scheduler = virtual(sink, clock=clock, idle_sleep_ms=60_000)
    scheduler.connect("elsewhere:out", "sink:in", edge=far.end, remote=True)

    class Ending(Sink):
        def on_start(self) -> None:
            far.buffer.put(Message("news"))
            scheduler._waiter.wake()

    scheduler.register(Ending("other"))
    sink.on_message = lambda port, message: (sink.got.append(message.payload), scheduler.shutdown())  # type: ignore[assignment, method-assign, return-value]
    scheduler.run()
    assert sink.got == ["news"]


@pytest.mark.parametrize("burst", [1, 3], ids=["one message", "a group"])
def test_a_producer_waits_while_the_store_is_down_and_loses_nothing(burst: int) -> None:
    far, clock, recorder = store(), VirtualClock(), Recorder()
    far.is_down = True
    node = Burst("here", range(burst))
    scheduler = sending(far, node, clock=clock, metrics=recorder)
    scheduler.inject("here", "go", None)
    live(scheduler, clock, seconds=3.5)
    assert recorder.of("parked") == [("here", ["here:out->there:in"])]
    assert recorder.of("resumed") == []
    assert node.calls == 1
    hooks = {hook for _, hook, _ in recorder.of("failed")}
    assert {"refresh", "put", "admits"} <= hooks
    far.is_down = False
    live(scheduler, clock, seconds=2)
    assert far.buffer.counts().accepted == burst


def test_looks_at_a_store_that_is_down_do_not_multiply() -> None:
    far, clock, recorder = store(), VirtualClock(), Recorder()
    far.is_down = True
    scheduler = sending(far, Burst("here", [1]), clock=clock, metrics=recorder)
    scheduler.inject("here", "go", None)
    failures = []
    for _ in range(3):
        live(scheduler, clock, seconds=10)
        failures.append(len(recorder.of("failed")))
        recorder.calls.clear()
    assert failures[2] <= failures[1] <= 3 * 10


def test_a_consumer_goes_on_when_the_store_is_back() -> None:
    far, sink, clock, recorder = store(), Sink("sink"), VirtualClock(), Recorder()
    far.buffer.put_all([Message(number) for number in range(3)])
    scheduler = receiving(far, sink, clock=clock, metrics=recorder)
    far.is_down = True
    live(scheduler, clock, seconds=5)
    assert sink.got == []
    assert {hook for _, hook, _ in recorder.of("failed")} >= {"take", "depth"}
    far.is_down = False
    live(scheduler, clock, seconds=2)
    assert sink.got == [0, 1, 2]


def test_a_settlement_that_fails_is_reported_and_the_message_comes_again() -> None:
    far, clock, recorder = store(), VirtualClock(), Recorder()

    class Cutting(Sink):
        def on_message(self, port: str, message: Message) -> None:
            super().on_message(port, message)
            far.is_down = True

    sink = Cutting("sink")
    far.buffer.put(Message("x"))
    drive(receiving(far, sink, clock=clock, metrics=recorder))
    first = next((hook, str(error)) for _, hook, error in recorder.of("failed"))
    assert first == ("settle", "the store is down")
    far.is_down = False
    far.hand_out_again()
    heir = Sink("heir")
    drive(receiving(far, heir))
    assert (sink.got, heir.got) == (["x"], ["x"])


def test_a_group_for_a_remote_and_a_local_edge_goes_to_both_or_waits_for_both() -> None:
    far, local = store(capacity=2), Sink("local")
    scheduler = virtual(Burst("burst", ["far"], other=["near"]), local)
    scheduler.connect("burst:out", "there:in", edge=far.end, remote=True)
    scheduler.connect("burst:other", "local:in")
    scheduler.start()
    for _ in range(5):
        scheduler.inject("burst", "go", None)
    drive(scheduler)
    assert local.got == ["near"] * 2
    far.buffer.take(Lane.DATA)
    far.ends[0].tell()
    drive(scheduler)
    assert local.got == ["near"] * 3
    assert far.buffer.counts().accepted == 3


def test_a_remote_edge_that_fills_between_question_and_put_leaves_the_local_one_untouched() -> None:
    far, local = store(capacity=1), Sink("local")
    scheduler = virtual(Burst("burst", ["far"], other=["near"]), local)
    scheduler.connect("burst:other", "local:in")
    scheduler.connect("burst:out", "there:in", edge=far.end, remote=True)
    scheduler.start()
    ask = far.ends[0].admits

    def admits_and_is_overtaken(messages: Any) -> bool:
        answer = ask(messages)
        far.buffer.put(Message("another producer's"))
        return answer

    far.ends[0].admits = admits_and_is_overtaken  # type: ignore[method-assign]
    scheduler.inject("burst", "go", None)
    drive(scheduler)
    assert local.got == []
    far.ends[0].admits = ask  # type: ignore[method-assign]
    far.buffer.take(Lane.DATA)
    far.ends[0].tell()
    drive(scheduler)
    assert local.got == ["near"]
    assert far.buffer.counts().accepted == 2


def test_a_shutdown_leaves_what_a_remote_edge_holds_to_the_next_process() -> None:
    far, sink = store(), Sink("sink")
    far.buffer.put_all([Message(number) for number in range(4)])
    scheduler = virtual(sink, max_batch_per_node=1)
    scheduler.connect("elsewhere:out", "sink:in", edge=far.end, remote=True)
    scheduler.start()
    scheduler.step()
    scheduler.shutdown()
    drive(scheduler)
    report = scheduler.finish()
    assert report.is_drained
    assert sink.got == [0]
    assert far.buffer.depth(Lane.DATA) == 3


def test_a_message_in_hand_is_finished_before_the_end() -> None:
    far, clock = store(), VirtualClock()
    far.buffer.put_all([Message(1), Message(2)])
    late = LateSink("late", delay_ms=1_000)
    scheduler = receiving(far, late, clock=clock)
    drive(scheduler)
    scheduler.shutdown()
    while (pause := scheduler.step()) is not None:
        clock.advance(pause)
    assert scheduler.finish().is_drained
    assert (late.got, far.unsettled) == ([1], [])


def test_what_cannot_travel_is_an_error_of_the_node_that_emitted_it() -> None:
    far, recorder = store(), Recorder()
    scheduler = sending(far, Relay("here"), metrics=recorder)
    for payload in (1, {2}, 3):
        scheduler.inject("here", "in", payload)
    drive(scheduler)
    assert [(where, hook, str(error)) for where, hook, error in recorder.of("failed")] == [
        ("here", "on_message", "a set cannot travel")
    ]
    assert far.buffer.counts().accepted == 2


def test_what_arrives_from_elsewhere_has_to_fit_the_port() -> None:
    far, recorder = store(), Recorder()
    sink = Sink("sink", inputs=[Port("in", int)], error_policy=retry(1))
    far.buffer.put_all([Message(1), Message("two"), Message(3)])
    scheduler = receiving(far, sink, metrics=recorder)
    drive(scheduler)
    assert sink.got == [1, 3]
    assert {type(error) for _, _, error in recorder.of("failed")} == {PortTypeError}
    assert far.unsettled == []


def test_a_remote_edge_needs_one_end_here() -> None:
    scheduler = virtual(Sink("sink"))
    scheduler.connect("x:out", "y:in", edge=store().end, remote=True)
    [problem] = scheduler.validate()
    assert (problem.code, problem.where) == (Code.UNKNOWN_UNIT, "x:out->y:in")


def test_both_ends_may_be_here() -> None:
    far, sink = store(capacity=2, policy=DROP), Sink("sink")
    scheduler = virtual(Relay("relay"), sink)
    scheduler.connect("relay:out", "sink:in", policy=DROP, edge=far.end, remote=True)
    scheduler.start()
    for number in range(8):
        scheduler.inject("relay", "in", number)
    drive(scheduler)
    assert sink.got == [0, 1]
    assert scheduler.stats().edges["relay:out->sink:in"].counts.dropped == 6

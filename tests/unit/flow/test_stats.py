from __future__ import annotations

from marie_celery.clock import VirtualClock
from marie_celery.flow import Band, Message, Stats
from tests.unit.flow.flow_kit import Recorder, Relay, Sink, drive, virtual


def test_before_the_first_step_there_is_nothing_to_tell() -> None:
    scheduler = virtual(Sink("sink"))
    assert scheduler.stats() == Stats()
    assert scheduler.stats().slowest_node is None


def test_they_tell_where_the_time_went() -> None:
    clock = VirtualClock()

    class Slow(Sink):
        def on_message(self, port: str, message: Message) -> None:
            clock.advance(0.25)

    scheduler = virtual(Relay("relay"), Slow("slow"), clock=clock, max_batch_per_node=2)
    scheduler.connect("relay:out", "slow:in", priority=Band.HIGH)
    scheduler.start()
    for number in range(4):
        scheduler.inject("relay", "in", number)
    drive(scheduler)
    stats = scheduler.stats()
    assert stats.slowest_node == "slow"
    assert (stats.busy_s, stats.longest_turn_s) == (1.0, 0.5)
    slow = stats.nodes["slow"]
    assert (slow.turns, slow.messages, slow.seconds, slow.longest_turn_s) == (2, 4, 1.0, 0.5)
    assert stats.turns == {Band.CONTROL: 0, Band.HIGH: 2, Band.NORMAL: 2}
    edge = stats.edges["relay:out->slow:in"]
    assert (edge.depth, edge.capacity, edge.policy, edge.band) == (0, 64, "block", Band.HIGH)
    assert (edge.counts.accepted, edge.counts.taken) == (4, 4)


def test_observers_hear_of_every_message_and_turn() -> None:
    recorder = Recorder()
    scheduler = virtual(Relay("relay"), Sink("sink"), metrics=recorder)
    scheduler.connect("relay:out", "sink:in", capacity=1)
    scheduler.start()
    for number in range(3):
        scheduler.inject("relay", "in", number)
    drive(scheduler)
    edge = "relay:out->sink:in"
    assert [call for call in recorder.of("enqueued") if call[0] == edge] == [(edge, 1, 1)] * 3
    assert [call for call in recorder.of("dequeued") if call[0] == edge] == [(edge, 0)] * 3
    assert recorder.of("parked") == [("relay", [edge])] * 2
    assert [node for node, _ in recorder.of("resumed")] == ["relay"] * 2
    assert sum(messages for node, _, messages, _ in recorder.of("turn") if node == "sink") == 3

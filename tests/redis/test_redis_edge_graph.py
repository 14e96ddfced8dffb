"""Graphs that span processes, here as schedulers side by side, on edges in Redis."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import fakeredis
import pytest
import redis

from marie_celery.clock import VirtualClock
from marie_celery.flow import (
    BLOCK,
    DROP,
    ERRORS_PORT,
    LATEST,
    Failure,
    Kind,
    Lane,
    Message,
    Policy,
    Port,
    PutResult,
    Scheduler,
    SchedulerConfig,
    coalesce,
)
from marie_celery.store.edges import RedisEdges, RemoteError
from marie_celery.store.edges.codec import decode, encode
from tests.redis.redis_runs import NOW
from tests.unit.flow.flow_kit import Recorder, Relay, Sink, Source, Spinner, drive, feed, spin, virtual
from tests.unit.flow.test_backpressure import LateSink
from tests.unit.flow.test_errors import Picky
from tests.unit.flow.test_waiting import Telling


@pytest.fixture(params=["fakeredis", "real"])
def client(request: pytest.FixtureRequest) -> Iterator[redis.Redis]:
    if request.param == "real":
        real: redis.Redis = request.getfixturevalue("real_client")
        real.flushall()
        yield real
    else:
        with fakeredis.FakeRedis(server=fakeredis.FakeServer(), decode_responses=True) as fake:
            yield fake


@pytest.fixture
def edges(client: redis.Redis) -> Iterator[RedisEdges]:
    with RedisEdges(client, now_ms=NOW, lease_seconds=1) as hub:
        yield hub


def join(scheduler: Scheduler, edges: RedisEdges, **options: Any) -> Scheduler:
    scheduler.connect("here:out", "there:in", edge=edges.edge, remote=True, **options)
    return scheduler


def look(scheduler: Scheduler) -> None:
    """As after a word from the far side, then whatever there is to do."""
    engine = scheduler._built()
    for link in engine._remote:
        engine.notice(link)
    drive(scheduler)


@pytest.mark.parametrize("policy", [BLOCK, DROP, LATEST, coalesce(lambda a, b: a + b)], ids=lambda p: p.name)
def test_every_policy_is_the_same_between_processes_as_inside_one(edges: RedisEdges, policy: Policy) -> None:
    def through(remote: bool) -> tuple[list[Any], bool]:
        clock = VirtualClock()
        source, late = Source("here", range(10)), LateSink("there")
        if remote:
            sender, receiver = virtual(source, clock=clock), virtual(late, clock=clock)
            join(sender, edges, capacity=3, policy=policy)
            join(receiver, edges, capacity=3, policy=policy)
        else:
            sender = receiver = virtual(source, late, clock=clock)
            sender.connect("here:out", "there:in", capacity=3, policy=policy)
        feed(sender, "here")
        for scheduler in dict.fromkeys([sender, receiver]):
            scheduler.start()
        for _ in range(3):
            sender.step()
            look(receiver)
            drive(sender)
        is_blocked = sender.stats().nodes["here"].is_blocked
        clock.advance(60)
        for _ in range(10):
            look(receiver)
            look(sender)
        return late.got, is_blocked

    far = through(remote=True)
    edges.call("edge_open", "here:out->there:in", 3, policy.name)
    assert far[1] == (policy.name == "block")
    wanted = {"block": 45, "coalesce": 45}
    if policy.name in wanted:
        assert sum(far[0]) == wanted[policy.name]
    near = through(remote=False)
    assert near[1] == far[1]
    assert len(near[0]) == len(far[0])
    assert near[0][-1] == far[0][-1]


def test_a_payload_that_cannot_travel_is_an_error_of_its_node_and_holds_nobody_up(edges: RedisEdges) -> None:
    recorder = Recorder()
    scheduler = join(virtual(Relay("here"), metrics=recorder), edges)
    scheduler.start()
    for payload in (1, {2}, (3,), 4):
        scheduler.inject("here", "in", payload)
    drive(scheduler)
    assert [hook for _, hook, _ in recorder.of("failed")] == ["on_message"] * 2
    assert scheduler.stats().edges["here:out->there:in"].depth == 2


def test_what_another_process_sends_has_to_fit_the_port_here(edges: RedisEdges) -> None:
    sender = join(virtual(Relay("here")), edges)
    sink = Sink("there", inputs=[Port("in", int)])
    receiver = join(virtual(sink), edges)
    for scheduler in (sender, receiver):
        scheduler.start()
    for payload in (1, "two", 3):
        sender.inject("here", "in", payload)
    drive(sender)
    look(receiver)
    assert sink.got == [1, 3]
    assert receiver.stats().nodes["there"].skipped == 1
    assert receiver.stats().edges["here:out->there:in"].counts.taken == 3


def test_a_failure_travels_as_its_name_and_text(edges: RedisEdges) -> None:
    sender = virtual(Picky("here"))
    sender.connect(f"here:{ERRORS_PORT}", "there:in", edge=edges.edge, remote=True)
    sink = Sink("there")
    receiver = virtual(sink)
    receiver.connect(f"here:{ERRORS_PORT}", "there:in", edge=edges.edge, remote=True)
    for scheduler in (sender, receiver):
        scheduler.start()
    sender.inject("here", "in", "bad")
    drive(sender)
    look(receiver)
    [failure] = sink.got
    assert (failure.node, failure.port, failure.message.payload) == ("here", "in", "bad")
    assert str(failure.error) == "ValueError: no bad"


def test_a_failure_with_a_payload_that_cannot_travel_is_told_by_its_repr_and_again_unchanged() -> None:
    failure = Failure("here", "in", Message({2}, headers={"a": "b"}), ValueError("no"))
    once = decode(encode(Message(failure, Kind.ERROR, {"x": "y"}, "t")))
    assert once.payload.message.payload == "{2}"
    assert (once.kind, once.headers, once.trace_id) == (Kind.ERROR, {"x": "y"}, "t")
    twice = decode(encode(once))
    assert isinstance(twice.payload.error, RemoteError)
    assert (twice.payload.error.type_name, twice.payload.error.text) == ("ValueError", "no")
    assert twice.payload.message == once.payload.message


def in_thread(scheduler: Scheduler) -> threading.Thread:
    thread = threading.Thread(target=scheduler.run)
    thread.start()
    return thread


def test_a_sleeping_consumer_and_a_blocked_producer_wake_each_other_over_the_server(
    client: redis.Redis,
) -> None:
    """Both would sleep for an hour; nothing but the wake lists can make this end."""
    config = SchedulerConfig(idle_sleep_ms=3_600_000)
    sink = Telling("there")
    with RedisEdges(client) as far, RedisEdges(client) as near:
        receiver, sender = Scheduler(config), Scheduler(config)
        receiver.register(sink)
        sender.register(Relay("here"))
        join(receiver, far, capacity=1)
        join(sender, near, capacity=1)
        running = {scheduler: in_thread(scheduler) for scheduler in (receiver, sender)}
        assert sink.started.wait(30)
        for number in range(30):
            while sender.inject("here", "in", number) is PutResult.BLOCKED:
                assert sink.heard.acquire(timeout=30)
        while len(sink.got) < 30:
            assert sink.heard.acquire(timeout=30)
        for scheduler, thread in running.items():
            scheduler.shutdown()
            thread.join(30)
            assert not thread.is_alive()
    assert sink.got == list(range(30))


def test_a_busy_consumer_hears_of_a_control_message_from_another_process(client: redis.Redis) -> None:
    """It never waits, so only the listening thread can tell it."""
    sink = Telling("there")
    spinner = Spinner("busy")
    config = SchedulerConfig(idle_sleep_ms=3_600_000, shutdown_timeout_s=0)
    with RedisEdges(client) as far, RedisEdges(client) as near:
        receiver = Scheduler(config)
        for unit in (sink, spinner):
            receiver.register(unit)
        spin(receiver, "busy")
        join(receiver, far)
        thread = in_thread(receiver)
        assert sink.started.wait(30)
        sender = near.edge("here:out->there:in", 64, BLOCK)
        for number in range(5):
            sender.put(Message(number, Kind.CONTROL))
            assert sink.heard.acquire(timeout=30)
        receiver.shutdown()
        thread.join(30)
        assert not thread.is_alive()
    assert sink.got == list(range(5))
    assert receiver.stats().waits == 0


def test_leases_are_renewed_while_a_callback_takes_longer_than_one(real_client: redis.Redis) -> None:
    real_client.flushall()
    entered, leave = threading.Event(), threading.Event()

    class Slow(Sink):
        def on_message(self, port: str, message: Message) -> None:
            entered.set()
            assert leave.wait(30)
            super().on_message(port, message)

    slow = Slow("there")
    with RedisEdges(real_client, lease_seconds=0.3) as far, RedisEdges(real_client) as near:
        receiver = join(Scheduler(), far)
        receiver.register(slow)
        other = near.edge("here:out->there:in", 64, BLOCK)
        other.put(Message("x"))
        thread = in_thread(receiver)
        assert entered.wait(30)
        # Three leases go by, in the time of the server.
        [(_, first_end)] = real_client.zrange(other.keys.consumers, 0, -1, withscores=True)
        while real_client.zrange(other.keys.consumers, 0, -1, withscores=True)[0][1] < first_end + 900:
            other._call("edge_look", "", 0, 0)
        assert other.depth(Lane.DATA) == 0
        leave.set()
        receiver.shutdown()
        thread.join(30)
    assert slow.got == ["x"]
    assert real_client.hget(other.keys.books, "returned") is None

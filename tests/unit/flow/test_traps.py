"""The nine ways in which a cooperative runtime goes wrong, one test each, on a virtual clock."""

from __future__ import annotations

import itertools

import pytest

from marie_celery.clock import VirtualClock
from marie_celery.flow import (
    BLOCK,
    DROP,
    LATEST,
    Band,
    Kind,
    Message,
    Node,
    Policy,
    Port,
    PutResult,
    coalesce,
)
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
    live,
    spin,
    virtual,
)
from tests.unit.flow.test_backpressure import LateSink


@pytest.mark.parametrize("order", list(itertools.permutations(["source", "relay", "sink"])))
def test_a_blocked_producer_never_starves_its_consumer_whatever_the_order_of_registration(
    order: tuple[str, ...],
) -> None:
    sink = Sink("sink")
    units = {"source": Source("source", range(500)), "relay": Relay("relay"), "sink": sink}
    scheduler = virtual(*(units[name] for name in order), max_batch_per_node=4)
    feed(scheduler, "source")
    scheduler.connect("source:out", "relay:in", capacity=1)
    scheduler.connect("relay:out", "sink:in", capacity=1)
    scheduler.start()

    turns = drive(scheduler)

    assert sink.got == list(range(500))
    assert scheduler.stats().nodes["source"].parked > 0
    assert turns < 2_500


def test_emit_is_all_or_nothing_and_the_producer_resumes_exactly_when_there_is_room() -> None:
    wide, narrow = Sink("wide"), Sink("narrow")
    burst = Burst("burst", items=["w1", "w2"], other=["n1", "n2"])
    recorder = Recorder()
    scheduler = virtual(burst, wide, narrow, metrics=recorder, max_batch_per_node=1)
    scheduler.inlet("burst:go", priority=Band.HIGH)
    scheduler.connect("burst:out", "wide:in", capacity=100)
    scheduler.connect("burst:other", "narrow:in", capacity=2)
    scheduler.start()
    for _ in range(2):
        scheduler.inject("burst", "go", None)

    while burst.calls < 2:
        scheduler.step()
    assert narrow.got == []
    edges = scheduler.stats().edges
    assert [edges[edge].counts.accepted for edge in ("burst:out->wide:in", "burst:other->narrow:in")] == [
        2,
        2,
    ]

    # Two places are needed. One is not enough.
    for taken in (["n1"], ["n1", "n2"]):
        assert scheduler.stats().nodes["burst"].is_blocked
        assert recorder.of("resumed") == []
        while narrow.got != taken:
            scheduler.step()
    assert recorder.of("resumed") == [("burst", 0.0)]
    assert not scheduler.stats().nodes["burst"].is_blocked

    drive(scheduler)
    assert burst.calls == 2
    assert (wide.got, narrow.got) == (["w1", "w2"] * 2, ["n1", "n2"] * 2)


def test_always_ready_bands_share_seven_thousand_turns_four_to_two_to_one() -> None:
    spinners = {"control": Spinner("control"), "high": Spinner("high"), "normal": Spinner("normal")}
    scheduler = virtual(*spinners.values(), max_batch_per_node=1)
    for name, priority in (("normal", 0), ("high", 50), ("control", 100)):
        spin(scheduler, name, priority)
    scheduler.start()

    drive(scheduler, turns=7_000)

    assert spinners["control"].turns == pytest.approx(4_000, rel=0.02)
    assert spinners["high"].turns == pytest.approx(2_000, rel=0.02)
    assert spinners["normal"].turns == pytest.approx(1_000, rel=0.02)


def test_equal_nodes_of_a_band_get_equal_turns() -> None:
    spinners = [Spinner(f"n{number}") for number in range(7)]
    scheduler = virtual(*spinners, max_batch_per_node=3)
    for spinner in spinners:
        spin(scheduler, spinner.name)
    scheduler.start()

    for turns in range(1, 200):
        scheduler.step()
        counts = [scheduler.stats().nodes[spinner.name].turns for spinner in spinners]
        assert sum(counts) == turns
        assert max(counts) - min(counts) <= 1


def test_run_ends_only_by_shutdown_and_idles_without_spinning() -> None:
    def stop_after_a_day(ticker: Ticker) -> None:
        if ticker.ticks == 24:
            scheduler.shutdown()

    ticker = Ticker("clock", stop_after_a_day, tick_interval_ms=3_600_000)
    scheduler = virtual(ticker, idle_sleep_ms=60_000)

    report = scheduler.run()

    stats = scheduler.stats()
    assert report.is_drained
    assert stats.nodes["clock"].turns == 24
    assert stats.waits == 24 * 60


class Diary(Node):
    def __init__(self, name: str, diary: list[str], ports: str, **options: object) -> None:
        inputs = [Port(port) for port in ports.split() if port.startswith("in")]
        outputs = [Port(port) for port in ports.split() if port.startswith("out")]
        super().__init__(name, inputs=inputs, outputs=outputs)
        self.diary = diary

    def on_start(self) -> None:
        self.diary.append(f"start {self.name}")

    def on_stop(self) -> None:
        self.diary.append(f"stop {self.name}")


def test_shutdown_drains_until_its_time_out_reports_the_rest_and_stops_consumers_first() -> None:
    class Slow(Diary):
        def on_message(self, port: str, message: Message) -> None:
            clock.advance(1.0)
            self.diary.append(f"slow {message.payload}")

    diary: list[str] = []
    clock = VirtualClock()
    scheduler = virtual(
        Slow("slow", diary, "in"), Diary("middle", diary, "in out"), Diary("first", diary, "out"),
        clock=clock, shutdown_timeout_s=3.0, max_batch_per_node=1,
    )  # fmt: skip
    scheduler.connect("first:out", "middle:in")
    scheduler.connect("middle:out", "slow:in")
    for number in range(5):
        scheduler.inject("slow", "in", number)
    scheduler.shutdown()

    report = scheduler.run()

    assert diary == [
        "start first", "start middle", "start slow",
        "slow 0", "slow 1", "slow 2",
        "stop slow", "stop middle", "stop first",
    ]  # fmt: skip
    assert report.left_in_edges == {"outside:in->slow:in": 2}
    assert report.drain_seconds == 3.0


def test_coalesce_gets_payloads_and_a_raising_function_loses_nothing() -> None:
    seen: list[tuple[object, object]] = []

    def add(waiting: int, new: int) -> int:
        seen.append((waiting, new))
        if new == 3:
            raise ArithmeticError("no threes")
        return waiting + new

    sink = Sink("sink")
    recorder = Recorder()
    scheduler = virtual(Burst("burst", []), sink, metrics=recorder)
    scheduler.inlet("sink:in", capacity=1, policy=coalesce(add))

    results = [scheduler.inject("sink", "in", number) for number in (1, 2, 3)]
    scheduler.start()
    drive(scheduler)
    retried = scheduler.inject("sink", "in", 3)
    drive(scheduler)

    assert results == [PutResult.OK, PutResult.COALESCED, PutResult.BLOCKED]
    assert seen == [(1, 2), (3, 3)]
    assert retried is PutResult.OK
    assert sink.got == [3, 3]
    [(where, hook, error)] = recorder.of("failed")
    assert (where, hook, str(error)) == ("outside:in->sink:in", "edge", "no threes")


def test_fan_in_delivers_all_batches_are_bounded_and_tick_hints_work() -> None:
    sources = [Source(f"s{number}", [(number, item) for item in range(20)]) for number in range(5)]
    sink = Sink("sink")
    fast, slow = Ticker("fast", tick_interval_ms=10), Ticker("slow", tick_interval_ms=70)
    recorder, clock = Recorder(), VirtualClock()
    scheduler = virtual(*sources, sink, fast, slow, clock=clock, metrics=recorder, max_batch_per_node=3)
    for source in sources:
        feed(scheduler, source.name)
        scheduler.connect(f"{source.name}:out", "sink:in", capacity=2)
    scheduler.start()

    live(scheduler, clock, seconds=0.7)

    assert sorted(sink.got) == [(number, item) for number in range(5) for item in range(20)]
    assert [item for item in sink.got if item[0] == 2] == [(2, item) for item in range(20)]
    batches = [messages for node, _, messages, _ in recorder.of("turn") if node == "sink"]
    assert max(batches) == 3
    assert (fast.ticks, slow.ticks) == (70, 10)


@pytest.mark.parametrize("started", [False, True], ids=["before the run", "during the run"])
def test_settings_of_unknown_edges_and_bad_values_are_named_good_ones_work(
    started: bool,
) -> None:
    sink = Sink("sink")
    scheduler = virtual(Relay("relay"), sink)
    edge = "relay:out->sink:in"
    scheduler.connect("relay:out", "sink:in", capacity=1, policy=DROP)
    if started:
        scheduler.start()

    for setter in (scheduler.set_priority, scheduler.set_capacity):
        with pytest.raises(ValueError, match="nowhere:out->sink:in"):
            setter("nowhere:out->sink:in", 5)
        for bad in (-1, "many", 1.5, True, None):
            with pytest.raises(ValueError, match=rf"{edge}.*{bad!r}"):
                setter(edge, bad)  # type: ignore[arg-type]
    scheduler.set_priority(edge, 60)
    scheduler.set_capacity(edge, 2)

    if not started:
        scheduler.start()
    stats = scheduler.stats().edges[edge]
    assert (stats.priority, stats.capacity) == (60, 2)


@pytest.mark.parametrize("started", [False, True], ids=["before the run", "during the run"])
def test_a_new_priority_moves_an_edge_to_its_band_with_all_that_waits_in_it(started: bool) -> None:
    recorder, sink = Recorder(), Sink("sink")
    scheduler = virtual(sink, Spinner("rival"), metrics=recorder, max_batch_per_node=1)
    spin(scheduler, "rival", priority=Band.HIGH)
    edge = "outside:in->sink:in"
    if not started:
        scheduler.set_priority(edge, Band.CONTROL)
    for number in range(20):
        scheduler.inject("sink", "in", number)
    scheduler.start()
    if started:
        drive(scheduler, turns=10)
        assert {band for node, band, _, _ in recorder.of("turn") if node == "sink"} == {Band.NORMAL}
        recorder.calls.clear()
        scheduler.set_priority(edge, Band.CONTROL)

    drive(scheduler, turns=40)

    assert {band for node, band, _, _ in recorder.of("turn") if node == "sink"} == {Band.CONTROL}
    assert sink.got == list(range(20))


@pytest.mark.parametrize("started", [False, True], ids=["before the run", "during the run"])
def test_a_new_capacity_holds_from_the_next_message_on(started: bool) -> None:
    clock = VirtualClock()
    source, late = Source("source", range(10)), LateSink("late")
    scheduler = virtual(source, late, clock=clock)
    feed(scheduler, "source")
    scheduler.connect("source:out", "late:in", capacity=1)
    if started:
        scheduler.start()
        drive(scheduler)
        assert source.sent == 3, "one with the late sink, one in the edge, one in the source's hands"
    scheduler.set_capacity("source:out->late:in", 4)
    if not started:
        scheduler.start()

    drive(scheduler)

    assert source.sent == 6
    clock.advance(60)
    drive(scheduler)
    assert late.got == list(range(10))


@pytest.mark.parametrize("policy", [BLOCK, DROP, LATEST, coalesce(max)], ids=lambda policy: policy.name)
def test_control_messages_are_never_dropped(policy: Policy) -> None:
    sink = Sink("sink")
    scheduler = virtual(Relay("relay"), sink)
    scheduler.connect("relay:out", "sink:in", capacity=1, policy=policy)
    scheduler.start()
    for number in range(10):
        scheduler.inject("relay", "in", number)
        scheduler.inject("relay", "in", Message(f"command {number}", Kind.CONTROL))

    drive(scheduler)

    assert [payload for payload in sink.got if isinstance(payload, str)] == [
        f"command {n}" for n in range(10)
    ]
    data = [payload for payload in sink.got if isinstance(payload, int)]
    assert data == {"block": list(range(10)), "drop": [0], "latest": [9], "coalesce": [9]}[policy.name]

"""What other threads may do while the loop runs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from marie_celery.flow import (
    Band,
    Kind,
    Message,
    NotAccepting,
    PutResult,
    Scheduler,
    SchedulerConfig,
    coalesce,
)
from tests.unit.flow.edge_contract import refuse
from tests.unit.flow.flow_kit import Recorder, Relay, Sink

THREADS = 4
EACH = 2_000


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(work: Callable[[int], None]) -> None:
    errors: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert errors == []


def running(*units: Relay | Sink, metrics: Recorder | None = None) -> tuple[Scheduler, threading.Thread]:
    scheduler = Scheduler(SchedulerConfig(idle_sleep_ms=3_600_000), metrics=metrics)
    for unit in units:
        scheduler.register(unit)
    return scheduler, threading.Thread(target=scheduler.run)


def end(scheduler: Scheduler, thread: threading.Thread) -> None:
    scheduler.shutdown()
    thread.join(60)
    assert not thread.is_alive()


def test_nothing_that_several_threads_inject_is_lost_doubled_or_reordered() -> None:
    sink = Sink("sink")
    scheduler, thread = running(Relay("relay"), sink)
    scheduler.connect("relay:out", "sink:in", capacity=3)
    thread.start()

    def inject(number: int) -> None:
        for item in range(EACH):
            while scheduler.inject("relay", "in", (number, item)) is PutResult.BLOCKED:
                pass

    in_threads(inject)
    end(scheduler, thread)
    for number in range(THREADS):
        assert [item for who, item in sink.got if who == number] == list(range(EACH))
    assert len(sink.got) == THREADS * EACH
    counts = scheduler.stats().edges["outside:in->relay:in"].counts
    assert counts.accepted == counts.taken == THREADS * EACH


def test_merges_of_several_threads_add_up() -> None:
    sink = Sink("sink")
    scheduler, thread = running(sink)
    scheduler.inlet("sink:in", capacity=1, policy=coalesce(lambda waiting, new: waiting + new))
    thread.start()

    def inject(number: int) -> None:
        for _ in range(EACH):
            scheduler.inject("sink", "in", 1)

    in_threads(inject)
    end(scheduler, thread)
    assert sum(sink.got) == THREADS * EACH
    counts = scheduler.stats().edges["outside:in->sink:in"].counts
    assert counts.accepted + counts.coalesced == THREADS * EACH


def test_errors_of_several_threads_are_all_counted() -> None:
    scheduler, thread = running(Sink("sink"), metrics=Recorder())
    scheduler.inlet("sink:in", capacity=1, policy=coalesce(refuse))
    scheduler.inject("sink", "in", 0)

    def inject(number: int) -> None:
        for _ in range(200):
            assert scheduler.inject("sink", "in", 1) is PutResult.BLOCKED

    in_threads(inject)
    assert scheduler.stats().errors == THREADS * 200
    thread.start()
    end(scheduler, thread)


def test_settings_change_under_full_load_and_nothing_is_lost() -> None:
    sink = Sink("sink")
    scheduler, thread = running(Relay("relay"), sink)
    edge = "relay:out->sink:in"
    scheduler.connect("relay:out", "sink:in", capacity=1)
    thread.start()

    def meddle(number: int) -> None:
        for item in range(EACH // 4):
            scheduler.set_capacity(edge, 1 + item % 7)
            scheduler.set_priority(edge, (Band.NORMAL, Band.HIGH, Band.CONTROL)[item % 3])
            while scheduler.inject("relay", "in", (number, item)) is PutResult.BLOCKED:
                scheduler.stats()

    in_threads(meddle)
    end(scheduler, thread)
    for number in range(THREADS):
        assert [item for who, item in sink.got if who == number] == list(range(EACH // 4))


def test_whoever_injects_while_it_shuts_down_knows_whether_it_was_taken() -> None:
    sink = Sink("sink")
    scheduler, thread = running(sink)
    scheduler.inlet("sink:in", capacity=10**6)
    taken = [0] * THREADS
    thread.start()

    def inject(number: int) -> None:
        try:
            for item in range(10**6):
                if number == 0 and item == 500:
                    scheduler.shutdown()
                kind = Kind.CONTROL if item % 10 == 0 else Kind.DATA
                if scheduler.inject("sink", "in", Message(item, kind)) is PutResult.OK:
                    taken[number] += 1
        except NotAccepting:
            return

    in_threads(inject)
    end(scheduler, thread)
    assert len(sink.got) == sum(taken) >= 500


def test_a_thread_that_injects_without_pause_does_not_keep_the_loop_from_its_turns() -> None:
    sink = Sink("sink")
    scheduler, thread = running(sink)
    scheduler.inlet("sink:in", capacity=1)
    stop = threading.Event()

    def flood() -> None:
        while not stop.is_set():
            scheduler.inject("sink", "in", None)

    flooding = threading.Thread(target=flood)
    thread.start()
    flooding.start()
    seen = len(sink.got)
    for _ in range(50):
        while len(sink.got) == seen:
            scheduler.stats()
        seen = len(sink.got)
    stop.set()
    flooding.join()
    end(scheduler, thread)

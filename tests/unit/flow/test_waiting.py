from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from marie_celery.clock import SystemClock, VirtualClock
from marie_celery.flow import ClockWaiter, Message, Scheduler, SchedulerConfig, ThreadWaiter
from tests.unit.flow.flow_kit import Recorder, Sink, virtual


def test_a_wake_up_ends_the_next_wait_and_only_that_one() -> None:
    waiter = ThreadWaiter()
    for _ in range(1_000):
        waiter.wake()
    assert waiter.wait(60) is True
    assert waiter.wait(0.001) is False


def test_a_wake_up_from_another_thread_ends_the_present_wait() -> None:
    waiter = ThreadWaiter()
    thread = threading.Thread(target=waiter.wake)
    thread.start()
    assert waiter.wait(60) is True
    thread.join()


def test_a_wait_on_a_virtual_clock_moves_it_unless_something_happened() -> None:
    clock = VirtualClock()
    waiter = ClockWaiter(clock)
    assert waiter.wait(5) is False
    waiter.wake()
    assert waiter.wait(5) is True
    assert waiter.wait(5) is False
    assert clock.monotonic() == 10


class Telling(Sink):
    """Tells other threads of each message."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.started = threading.Event()
        self.heard = threading.Semaphore(0)

    def on_start(self) -> None:
        self.started.set()

    def on_message(self, port: str, message: Message) -> None:
        super().on_message(port, message)
        self.heard.release()


def test_an_idle_run_wakes_at_once_for_what_comes_from_outside_and_burns_no_processor() -> None:
    sink = Telling("sink")
    scheduler = Scheduler(SchedulerConfig(idle_sleep_ms=3_600_000))
    scheduler.register(sink)
    thread = threading.Thread(target=scheduler.run)
    thread.start()
    assert sink.started.wait(30)
    used = time.process_time()
    for number in range(20):
        scheduler.inject("sink", "in", number)
        # It would sleep for an hour; that it answers at all shows that it was woken.
        assert sink.heard.acquire(timeout=30)
    scheduler.shutdown()
    thread.join(30)
    assert not thread.is_alive()
    assert time.process_time() - used < 1.0
    assert scheduler.stats().waits <= 25


def test_a_signal_handler_may_end_a_run_that_sleeps() -> None:
    scheduler = Scheduler(SchedulerConfig(idle_sleep_ms=3_600_000))
    scheduler.register(Sink("sink"))
    before = signal.signal(signal.SIGUSR1, lambda *_: scheduler.shutdown())
    alarm = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
    alarm.start()
    try:
        assert scheduler.run().is_drained
    finally:
        alarm.join()
        signal.signal(signal.SIGUSR1, before)


def test_the_run_outlives_a_waiter_that_raises() -> None:
    clock = VirtualClock()

    class Torn(ClockWaiter):
        waits = 0

        def wait(self, seconds: float) -> bool:
            self.waits += 1
            if self.waits == 3:
                scheduler.shutdown()
            raise ConnectionError("the server is away")

    recorder = Recorder()
    scheduler = virtual(Sink("sink"), clock=clock, waiter=Torn(clock), metrics=recorder, idle_sleep_ms=60_000)
    scheduler.run()
    assert [(where, hook) for where, hook, _ in recorder.of("failed")] == [("waiter", "wait")] * 3
    # A pause that nobody can end early is a second at most.
    assert clock.monotonic() == 3.0
    assert [seconds for (seconds,) in recorder.of("waited")] == [1.0, 1.0, 1.0]


def test_a_waiter_may_bring_what_it_learned() -> None:
    clock = VirtualClock()

    class Bringing(ClockWaiter):
        def wait(self, seconds: float) -> bool:
            scheduler.inject("sink", "in", "news")
            scheduler.shutdown()
            return super().wait(seconds)

    sink = Sink("sink")
    scheduler = virtual(sink, clock=clock, waiter=Bringing(clock))
    scheduler.run()
    assert sink.got == ["news"]


def test_without_a_waiter_it_fits_the_clock() -> None:
    for clock, kind in ((SystemClock(), ThreadWaiter), (VirtualClock(), ClockWaiter)):
        assert isinstance(Scheduler(clock=clock)._waiter, kind)


def test_the_longest_wait_is_the_configured_one_unless_a_tick_is_due_before() -> None:
    scheduler = virtual(Sink("sink"), idle_sleep_ms=250)
    scheduler.start()
    assert scheduler.step() == pytest.approx(0.25)

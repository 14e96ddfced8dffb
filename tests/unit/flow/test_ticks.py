from __future__ import annotations

import pytest

from marie_celery.clock import VirtualClock
from marie_celery.flow import Message
from tests.unit.flow.flow_kit import Recorder, Sink, Spinner, Ticker, live, spin, virtual


def test_ticks_come_on_time_under_light_load() -> None:
    clock = VirtualClock()
    times: list[float] = []
    ticker = Ticker("ticker", lambda _: times.append(clock.monotonic()), tick_interval_ms=100)
    scheduler = virtual(ticker, clock=clock)
    scheduler.start()
    live(scheduler, clock, seconds=10)
    assert times == pytest.approx([0.1 * number for number in range(1, 101)])


def test_a_node_without_a_hint_ticks_at_the_configured_cadence() -> None:
    clock = VirtualClock()
    ticker = Ticker("ticker")
    scheduler = virtual(ticker, clock=clock, tick_interval_ms=25)
    scheduler.start()
    live(scheduler, clock, seconds=1)
    assert ticker.ticks == 40


def test_a_late_tick_does_not_shift_the_next_and_missed_ones_are_not_made_up() -> None:
    clock = VirtualClock()
    times: list[float] = []

    def slow_once(ticker: Ticker) -> None:
        times.append(round(clock.monotonic(), 6))
        if ticker.ticks == 2:
            clock.advance(0.35)

    scheduler = virtual(Ticker("ticker", slow_once, tick_interval_ms=100), clock=clock)
    scheduler.start()
    live(scheduler, clock, seconds=1)
    assert times == [0.1, 0.2, 0.6, 0.7, 0.8, 0.9, 1.0]


def test_a_node_that_does_not_tick_costs_no_turns() -> None:
    clock, recorder = VirtualClock(), Recorder()
    scheduler = virtual(Sink("sink"), clock=clock, metrics=recorder)
    scheduler.start()
    live(scheduler, clock, seconds=60)
    assert recorder.of("turn") == []


def test_ticks_hold_their_cadence_beside_busy_nodes_and_messages() -> None:
    clock = VirtualClock()
    spinners = [Spinner(f"n{number}", lambda _: clock.advance(0.0001)) for number in range(5)]
    times: list[float] = []

    class Both(Ticker):
        inputs = Sink.inputs

        def on_message(self, port: str, message: Message) -> None:
            got.append(message.payload)

    got: list[object] = []
    ticker = Both("ticker", lambda _: times.append(clock.monotonic()), tick_interval_ms=50)
    scheduler = virtual(*spinners, ticker, clock=clock)
    for spinner in spinners:
        spin(scheduler, spinner.name)
    scheduler.start()
    for number in range(30):
        scheduler.inject("ticker", "in", number)
    while clock.monotonic() < 5:
        scheduler.step()
    # What a tick may be late: the turn under way, and one round of everybody else.
    late = [time - 0.05 * number for number, time in enumerate(times, 1)]
    assert len(times) in (99, 100)
    assert min(late) >= 0
    assert max(late) <= 6 * 16 * 0.0001 + 1e-9
    assert got == list(range(30))

"""The watchdog of a worker: what it lets pass, what it notices, when it forgives."""

from __future__ import annotations

import pytest

from marie_celery.clock import VirtualClock
from marie_celery.worker.watchdog import Watchdog

LEASE = 5.0


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def dog(clock: VirtualClock) -> Watchdog:
    return Watchdog(LEASE, clock)


def test_a_worker_at_work_renews_all_that_it_has(dog: Watchdog, clock: VirtualClock) -> None:
    for _ in range(10):
        assert dog.look({"a": True, "b": True}, processes=2, is_connected=True) == ["a", "b"]
        clock.advance(LEASE)
    assert dog.trouble == ""


def test_a_message_behind_busy_processes_may_wait(dog: Watchdog, clock: VirtualClock) -> None:
    for _ in range(10):
        assert dog.look({"a": True, "b": True, "c": False}, processes=2, is_connected=True) == ["a", "b", "c"]
        clock.advance(LEASE)
    assert dog.trouble == ""


def test_a_message_that_an_idle_process_does_not_take_is_given_up_after_a_lease(
    dog: Watchdog, clock: VirtualClock
) -> None:
    assert dog.look({"a": True, "b": False}, processes=2, is_connected=True) == ["a", "b"]
    clock.advance(LEASE - 0.1)
    assert dog.look({"a": True, "b": False}, processes=2, is_connected=True) == ["a", "b"]
    assert dog.trouble == ""
    clock.advance(0.1)
    assert dog.look({"a": True, "b": False}, processes=2, is_connected=True) == ["a"]
    assert "take nothing on" in dog.trouble


def test_a_process_that_takes_it_at_last_ends_the_trouble(dog: Watchdog, clock: VirtualClock) -> None:
    dog.look({"b": False}, processes=2, is_connected=True)
    clock.advance(LEASE)
    assert dog.look({"b": False}, processes=2, is_connected=True) == []
    assert dog.look({"b": True}, processes=2, is_connected=True) == ["b"]
    assert dog.trouble == ""


def test_a_message_that_comes_again_has_its_time_anew(dog: Watchdog, clock: VirtualClock) -> None:
    dog.look({"b": False}, processes=1, is_connected=True)
    clock.advance(LEASE)
    dog.look({}, processes=1, is_connected=True)
    assert dog.look({"b": False}, processes=1, is_connected=True) == ["b"]


def test_without_a_broker_what_runs_is_renewed_and_the_trouble_is_told(dog: Watchdog) -> None:
    assert dog.look({"a": True}, processes=2, is_connected=False) == ["a"]
    assert "broker" in dog.trouble
    dog.look({"a": True}, processes=2, is_connected=True)
    assert dog.trouble == ""

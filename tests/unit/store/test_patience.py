"""How long a call waits for Redis, and for what."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis
from redis.exceptions import AuthorizationError

from marie_celery.clock import VirtualClock
from marie_celery.store.patience import Patience, is_outage, patient

AWAY = redis.ConnectionError("refused")


class Server:
    """Fails with what it is given, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0
        self.tidied: list[Exception] = []

    def call(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"

    def tidy(self, error: Exception, failures: int) -> None:
        self.tidied.append(error)


def ask(patience: Patience, server: Server, do: Callable[[], str] | None = None) -> str:
    return patience.call_with_retry(do or server.call, server.tidy, with_failure_count=True)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (redis.ConnectionError(), True),
        (redis.TimeoutError(), True),
        (redis.BusyLoadingError(), True),
        (redis.ReadOnlyError("You can't write against a read only replica."), True),
        (redis.ResponseError("UNBLOCKED force unblock from blocking operation"), True),
        (redis.ResponseError("NOREPLICAS Not enough good replicas to write."), True),
        (redis.ResponseError("ERR unknown command"), False),
        (redis.AuthenticationError("WRONGPASS"), False),
        (AuthorizationError(), False),
        (ValueError(), False),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_counts_as_an_outage(error: Exception, expected: bool) -> None:
    assert is_outage(error) is expected


def test_without_patience_one_more_try_is_made_at_once() -> None:
    clock, server = VirtualClock(), Server(AWAY)
    assert ask(Patience(0.0, clock), server) == "answer"
    assert clock.monotonic() == 0
    assert server.tidied == [AWAY], "the dead connection is closed before the next try"
    with pytest.raises(redis.ConnectionError):
        ask(Patience(0.0, clock), Server(AWAY, AWAY))


def test_it_tries_until_its_time_is_over_and_not_longer() -> None:
    clock, server = VirtualClock(), Server(*[AWAY] * 1000)
    with pytest.raises(redis.ConnectionError):
        ask(Patience(10.0, clock), server)
    assert clock.monotonic() == pytest.approx(10.0)
    assert 10 < server.calls < 100


def test_tries_within_tries_share_one_deadline() -> None:
    clock, server = VirtualClock(), Server(*[AWAY] * 1000)
    patience = Patience(10.0, clock)
    with pytest.raises(redis.ConnectionError):
        ask(patience, server, lambda: ask(patience, server))
    assert clock.monotonic() == pytest.approx(10.0)


def test_another_patience_holds_inside_its_scope_only() -> None:
    clock = VirtualClock()
    with patient(3.0), pytest.raises(redis.ConnectionError):
        ask(Patience(10.0, clock), Server(*[AWAY] * 1000))
    assert clock.monotonic() == pytest.approx(3.0)
    with pytest.raises(redis.ConnectionError):
        ask(Patience(1.0, clock), Server(*[AWAY] * 1000))
    assert clock.monotonic() == pytest.approx(4.0)


def test_what_is_wrong_with_the_question_is_not_asked_again() -> None:
    clock, server = VirtualClock(), Server(redis.ResponseError("ERR wrong number of arguments"))
    with pytest.raises(redis.ResponseError):
        ask(Patience(10.0, clock), server)
    assert (server.calls, clock.monotonic()) == (1, 0)

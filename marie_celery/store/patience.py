"""How long a call waits for a Redis that is away: restarting, loading its data, failing over, cut off.

redis-py counts tries and nests them (a command tries again, and so does the connect within each of its tries), so a
number of tries says little about time. Here a call has one deadline, however deep the tries nest.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar

import redis
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

from marie_celery.clock import Clock, SystemClock

T = TypeVar("T")

# Answers of a server that will be able, or of one that was demoted: another connection finds the one in charge.
_LATER = ("LOADING", "MASTERDOWN", "NOREPLICAS", "READONLY", "UNBLOCKED")
_RETRIED = (redis.ConnectionError, redis.TimeoutError, redis.ResponseError, socket.timeout)

_seconds: ContextVar[float | None] = ContextVar("marie_patience", default=None)
_trying: ContextVar[bool] = ContextVar("marie_trying", default=False)


class patient:  # noqa: N801
    """Calls in here wait this long for Redis, whatever their connection was made with."""

    __slots__ = ("_before", "_wait")

    def __init__(self, seconds: float) -> None:
        self._wait = seconds

    def __enter__(self) -> None:
        self._before = _seconds.set(self._wait)

    def __exit__(self, *_: object) -> None:
        _seconds.reset(self._before)


def is_outage(error: BaseException) -> bool:
    """Is this about Redis being away, and not about what was asked?"""
    if isinstance(error, redis.AuthenticationError | redis.exceptions.AuthorizationError):
        return False
    if isinstance(error, redis.ResponseError):
        return isinstance(error, redis.ReadOnlyError) or str(error).startswith(_LATER)
    return isinstance(error, redis.ConnectionError | redis.TimeoutError | OSError)


class Patience(Retry):
    """Tries again until its time is over; once at least, since a connection may have died of old age alone."""

    def __init__(self, seconds: float, clock: Clock | None = None) -> None:
        super().__init__(ExponentialBackoff(cap=0.5, base=0.02), retries=-1, supported_errors=_RETRIED)
        self._wait = seconds
        self._clock = clock or SystemClock()

    def call_with_retry(
        self,
        do: Callable[[], T],
        fail: Callable[..., Any],
        is_retryable: Callable[[Exception], bool] | None = None,
        with_failure_count: bool = False,
    ) -> T:
        def tidy(error: Exception, failures: int) -> None:
            fail(error, failures) if with_failure_count else fail(error)

        if _trying.get():
            try:
                return do()
            except self._supported_errors as error:
                if is_outage(error):
                    tidy(error, 1)
                raise
        nested = _trying.set(True)
        try:
            return self._insist(do, tidy, is_retryable)
        finally:
            _trying.reset(nested)

    def _insist(
        self,
        do: Callable[[], T],
        tidy: Callable[[Exception, int], None],
        is_retryable: Callable[[Exception], bool] | None,
    ) -> T:
        wait = _seconds.get()
        end = self._clock.monotonic() + (self._wait if wait is None else wait)
        failures = 0
        while True:
            try:
                return do()
            except self._supported_errors as error:
                if not is_outage(error) or (is_retryable and not is_retryable(error)):
                    raise
                failures += 1
                tidy(error, failures)
                left = end - self._clock.monotonic()
                if failures > 1 and left <= 0:
                    raise
                if failures > 1:
                    self._clock.sleep(min(left, self._backoff.compute(failures)))

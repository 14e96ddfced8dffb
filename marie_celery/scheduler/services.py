"""The duties of a scheduler, each a node of its graph. A duty is one atomic step in Redis, so any number of schedulers
can do them side by side.

A node is told that it is due and answers with what it has seen (`Turn`). Errors of Redis are an answer too: they
are waited out, never the end of the process.
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

import redis
from kombu.exceptions import OperationalError

from marie_celery.clock import Clock
from marie_celery.flow import Message, Node, Port
from marie_celery.scheduler.turns import Due, Turn
from marie_celery.store.store import Store

log = logging.getLogger(__name__)



class Service(Node, ABC):
    """A node that does one duty when it is due."""

    inputs: Iterable[Port] = (Port("due", Due),)
    outputs: Iterable[Port] = (Port("turn", Turn),)

    def on_message(self, port: str, message: Message) -> None:
        self.report(self.turn)

    def report(self, step: Callable[[], Turn]) -> None:
        try:
            turn = step()
        except (redis.RedisError, OperationalError, OSError) as error:
            turn = Turn(self.name, error=str(error) or type(error).__name__)
        except Exception as error:
            log.exception("%s stumbled", self.name)
            turn = Turn(self.name, error=repr(error))
        self.emit("turn", turn)

    @abstractmethod
    def turn(self) -> Turn: ...


class Timed(Service):
    """A duty that knows when it is due next: retries, ranks, SLAs. After a full batch it goes on at once."""

    def __init__(self, name: str, step: Callable[[], tuple[int, float | None]], batches: int = 1) -> None:
        super().__init__(name)
        self._step = step
        self._batches = batches

    def turn(self) -> Turn:
        worked = False
        for _ in range(self._batches):
            done, next_seconds = self._step()
            worked = worked or done > 0
            if next_seconds != 0.0:
                break
        return Turn(self.name, worked=worked, next_seconds=next_seconds)


class Advancer(Service):
    """Goes on with work that was too long for one script call: wide fan-outs, large cancels, abandoned submits.

    One piece a turn: an operator's order waits for the turn under way.
    """

    def __init__(self, store: Store) -> None:
        super().__init__("advancer")
        self._store = store

    def turn(self) -> Turn:
        return Turn(self.name, worked=True, next_seconds=0.0) if self._store.advance() else Turn(self.name)


class Reaper(Service):
    """Finds dead workers, ended leases and abandoned submissions.

    Leases also end while Redis is away, of workers that are well and only could not say so. After an outage, and at its
    own start, it first gives them the time of a lease to report.
    """

    EVERY = 1.0

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__("reaper")
        self._store = store
        self._clock = clock
        self._answered = -math.inf
        self._not_before = 0.0

    def turn(self) -> Turn:
        settings = self._store.settings
        asked_ms = self._store.read_clock()
        now = self._clock.monotonic()
        if now - self._answered > self.EVERY + settings.heartbeat_seconds:
            self._not_before = now + settings.lease_ttl_seconds
        self._answered = now
        if now < self._not_before:
            return Turn(self.name, next_seconds=min(self.EVERY, self._not_before - now))
        reaped = self._store.reap(asked_ms + round(settings.heartbeat_seconds * 1000))
        if reaped:
            log.info(
                "reaped %d workers, %d lost jobs, %d unstarted jobs, %d abandoned submissions",
                reaped.workers,
                reaped.lost,
                reaped.resent,
                reaped.abandoned,
            )
        return Turn(self.name, worked=bool(reaped), next_seconds=self.EVERY)

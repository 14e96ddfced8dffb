"""The loop of a scheduler process: wait for a wake-up, then let every service have its turn."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import redis

from marie_celery.clock import Clock, SystemClock
from marie_celery.extension import Marie
from marie_celery.planning import planner
from marie_celery.scheduler.pace import Pace
from marie_celery.scheduler.services import Advancer, Dispatcher, Promoter, Reaper, Turn
from marie_celery.transport.transports import choose_transport

log = logging.getLogger(__name__)

REAP_EVERY = 1.0


class SchedulerProcess:
    """Any number of them may run; none is a leader. `stop` is safe from signal handlers and other threads."""

    def __init__(self, marie: Marie, clock: Clock | None = None) -> None:
        self._marie = marie
        self._clock = clock or SystemClock()
        self._pace = Pace()
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()

    def run(self, on_start: Callable[[str], None] | None = None) -> None:
        """Until `stop`. Errors of Redis are reported and waited out, they never end the process."""
        for warning in self._marie.check():
            log.warning("%s", warning)
        store = self._marie.store
        transport = choose_transport(self._marie.app, store)
        try:
            if on_start:
                on_start(transport.name)
            dispatcher = Dispatcher(store, planner("global"), transport)
            reaper = Reaper(store)
            services: list[Promoter | Advancer | Dispatcher] = [Promoter(store), Advancer(store), dispatcher]
            reap_at = self._clock.monotonic()
            while not self._stopping.is_set():
                try:
                    turns = [service.turn() for service in services]
                    if self._clock.monotonic() >= reap_at:
                        turns.append(reaper.turn())
                        reap_at = self._clock.monotonic() + REAP_EVERY
                    self._wait(self._seconds_after(turns))
                except redis.RedisError as error:
                    seconds = self._pace.after_error()
                    log.error("Redis: %s; next try in %.1f s", error, seconds)
                    self._stopping.wait(seconds)
        finally:
            transport.close()

    def _seconds_after(self, turns: list[Turn]) -> float:
        pace = self._pace.after(
            worked=any(turn.worked for turn in turns), slots_free=any(turn.slots_free for turn in turns)
        )
        return min([pace, *(turn.next_seconds for turn in turns if turn.next_seconds is not None)])

    def _wait(self, seconds: float) -> None:
        end = self._clock.monotonic() + seconds
        while not self._stopping.is_set() and (left := end - self._clock.monotonic()) > 0:
            # A stop is noticed within one slice; 0 would block for ever.
            if self._marie.store.client.blpop([self._marie.store.keys.wake], timeout=min(left, 0.5)):
                return

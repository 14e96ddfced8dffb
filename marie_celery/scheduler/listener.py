"""Waits for Redis in a thread of its own, so that an order reaches the graph while the graph is at work."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from redis import Redis, RedisError

from marie_celery.flow import Kind, Message, NotAccepting, Scheduler
from marie_celery.scheduler.agenda import REDIS_IS_BACK

log = logging.getLogger(__name__)

SLICE_SECONDS = 0.5
AFTER_ERROR_SECONDS = 1.0


class Listener:
    """Brings wake-ups to the agenda and orders to the inbox."""

    def __init__(self, client: Callable[[], Redis], commands: str, wake: str, graph: Scheduler) -> None:
        self._connect = client
        self._commands = commands
        self._wake = wake
        self._graph = graph
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="marie-listener", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(timeout=2 * SLICE_SECONDS)

    def _listen(self) -> None:
        client: Any = self._connect()
        was_cut_off = False
        try:
            while not self._stopping.is_set():
                try:
                    found = client.blpop([self._commands, self._wake], timeout=SLICE_SECONDS)
                except RedisError as error:
                    log.debug("listening: %s", error)
                    was_cut_off = True
                    self._stopping.wait(AFTER_ERROR_SECONDS)
                    continue
                if was_cut_off:
                    # All duties look again: what was taken from the list may have been lost on the way.
                    was_cut_off = False
                    self._graph.inject("agenda", "wake", REDIS_IS_BACK)
                if found is not None:
                    self._bring(*found)
        except NotAccepting:
            log.debug("the graph takes nothing more")
        finally:
            client.close()

    def _bring(self, key: str, value: str) -> None:
        if key == self._commands:
            self._graph.inject("inbox", "commands", Message(value, Kind.CONTROL))
        else:
            self._graph.inject("agenda", "wake", None)



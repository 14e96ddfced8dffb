"""A short way to Redis, for the one call that a relaying process makes for each job.

The client takes a connection from its pool, tries again, counts and measures for every command; a `Line` keeps one
connection of the same kind to itself. Nothing is tried again here: whoever gets an error asks the client, which knows
how to wait for a Redis that is away.

An answer is there within a fraction of a millisecond. To fall asleep for so long and be woken costs more than the call
itself, so the process first looks for it, and lets others have the processor in between.
"""

from __future__ import annotations

import os
import select
import threading
from typing import Any

from hiredis import pack_command
from redis import Redis

from marie_celery.clock import Clock, SystemClock

_give_way = getattr(os, "sched_yield", lambda: None)


class Line:
    """For the thread that opens it."""

    def __init__(self, client: Redis, look_seconds: float, clock: Clock | None = None) -> None:
        pool = client.connection_pool
        self._connection: Any = pool.connection_class(**pool.connection_kwargs)
        self._look_seconds = look_seconds if hasattr(select, "poll") else 0.0
        self._clock = clock or SystemClock()
        self._thread = threading.get_ident()
        self._socket: Any = None
        self._poller: Any = None

    @property
    def is_mine(self) -> bool:
        return threading.get_ident() == self._thread

    def call(self, *command: Any) -> Any:
        connection = self._connection
        connection.send_packed_command((pack_command(command),))
        try:
            if self._look_seconds:
                self._look()
            return connection.read_response()
        except BaseException:
            # Also when a signal interrupts it: the answer must not be taken for that of the next call.
            connection.disconnect()
            raise

    def _look(self) -> None:
        if self._connection._sock is not self._socket:
            self._socket = self._connection._sock
            self._poller = select.poll()
            self._poller.register(self._socket, select.POLLIN)
        is_there, now = self._poller.poll, self._clock.monotonic
        end = now() + self._look_seconds
        while not is_there(0) and now() < end:
            _give_way()

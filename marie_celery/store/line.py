"""A short way to Redis, for the one call that a relaying process makes for each job.

The client takes a connection from its pool, tries again, counts and measures for every command; a `Line` keeps one
connection of the same kind to itself. Nothing is tried again here: whoever gets an error asks the client, which knows
how to wait for a Redis that is away.

An answer is there within a fraction of a millisecond. To fall asleep for so long and be woken costs more than the call
itself, so the process first looks for it, and lets others have the processor in between. What it finds goes to the
reader of the connection, which has the rest of an answer that is not there yet by its own way.
"""

from __future__ import annotations

import os
import ssl
import threading
from typing import Any

from hiredis import PushNotification, pack_command
from redis import Redis
from redis._parsers.hiredis import NOT_ENOUGH_DATA, _HiredisParser

from marie_celery.clock import Clock, SystemClock

_give_way = getattr(os, "sched_yield", lambda: None)
_ENOUGH = 65536


class Line:
    """For the thread that opens it."""

    def __init__(self, client: Redis, look_seconds: float, clock: Clock | None = None) -> None:
        pool = client.connection_pool
        self._connection: Any = pool.connection_class(**pool.connection_kwargs)
        self._look_seconds = look_seconds
        self._clock = clock or SystemClock()
        self._thread = threading.get_ident()
        self._socket: Any = None
        self._parser: Any = None

    @property
    def is_mine(self) -> bool:
        return threading.get_ident() == self._thread

    def call(self, *command: Any) -> Any:
        connection = self._connection
        connection.send_packed_command((pack_command(command),))
        try:
            answer = self._look() if self._look_seconds else NOT_ENOUGH_DATA
            return connection.read_response() if answer is NOT_ENOUGH_DATA else answer
        except BaseException:
            # Also when a signal interrupts it: the answer must not be taken for that of the next call.
            connection.disconnect()
            raise

    def _look(self) -> Any:
        """The answer, if it is there in time and whole; else the connection is to read it."""
        if self._connection._sock is not self._socket:
            self._take_up(self._connection)
        if self._parser is None:
            return NOT_ENOUGH_DATA
        number, now = self._socket.fileno(), self._clock.monotonic
        end = now() + self._look_seconds
        while True:
            try:
                data = os.read(number, _ENOUGH)
                break
            except BlockingIOError:
                if now() >= end:
                    return NOT_ENOUGH_DATA
                _give_way()
            except OSError:
                return NOT_ENOUGH_DATA  # the connection meets it too, and says it in its own words
        reader = self._parser._reader
        reader.feed(data)
        answer = reader.gets()
        if isinstance(answer, Exception):
            raise answer
        # What the server tells without being asked is no answer.
        return NOT_ENOUGH_DATA if isinstance(answer, PushNotification) else answer

    def _take_up(self, connection: Any) -> None:
        """Looked for is only where a read returns at once and brings what was sent, not what it was encrypted to."""
        self._socket, parser = connection._sock, connection._parser
        returns_at_once = bool(self._socket.gettimeout())
        is_known = isinstance(parser, _HiredisParser) and not isinstance(self._socket, ssl.SSLSocket)
        self._parser = parser if returns_at_once and is_known else None

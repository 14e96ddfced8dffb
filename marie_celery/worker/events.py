"""Events of jobs that were passed on, as Flower expects them. They go out in bundles, like a worker's own.

A job that takes its time must not keep its start, and the end of the one before, to itself: a thread sends what is
there after half a second.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from typing import Any, ClassVar

from celery import states
from celery.utils.time import utcoffset
from kombu.exceptions import OperationalError

from marie_celery.clock import Clock

log = logging.getLogger(__name__)

BUNDLE = 120
"""Sixty jobs; the rest goes out with the end of the message, or when it has waited for so long:"""
WAIT_SECONDS = 0.5


class Told(str):
    """The result of a job that a message brought, as text, whose event has been sent: the parent process need not."""

    __slots__ = ()


class RelayEvents:
    """One per process: a forked child never uses its parent's connection."""

    _made: ClassVar[dict[int, RelayEvents]] = {}

    def __init__(self, app: Any, hostname: str, clock: Clock) -> None:
        self._hours: int = utcoffset()
        self._clock = clock
        self._lock = threading.Lock()
        self._has_some = threading.Event()
        self._dispatcher = app.events.Dispatcher(
            app.connection_for_write(), hostname=hostname, buffer_group=frozenset({"task"}), buffer_limit=BUNDLE
        )
        threading.Thread(target=self._keep_up, name="marie-events", daemon=True).start()

    @classmethod
    def of(cls, app: Any, hostname: str, clock: Clock) -> RelayEvents:
        if os.getpid() not in cls._made:
            cls._made.clear()
            cls._made[os.getpid()] = cls(app, hostname, clock)
        made = cls._made[os.getpid()]
        made._hours = utcoffset()
        return made

    def begun(self, request: Mapping[str, Any]) -> None:
        """It was never received as a message, so no event says so: this one tells all there is to know.

        Named arguments only where there are some: Flower parses their text with every event of the task, and that is a
        third of what an event costs it.
        """
        named = {} if request["kwargsrepr"] == "{}" else {"kwargs": request["kwargsrepr"]}
        self._send(
            "task-started",
            request["id"],
            name=request["task"],
            args=request["argsrepr"],
            root_id=request["root_id"],
            parent_id=None,
            retries=0,
            **named,
        )

    def ended(self, attempt: str, answer: Any) -> None:
        """`answer` is what Celery's trace gives: what was returned or raised, how it ended, runtime, result as text."""
        retval, info, runtime, text = answer
        if info is None:
            self.succeeded(attempt, text, runtime)
        elif info.state in (states.FAILURE, states.RETRY):
            kind = "task-failed" if info.state == states.FAILURE else "task-retried"
            self._send(kind, attempt, exception=repr(info.retval), traceback=getattr(retval, "traceback", None))

    def succeeded(self, attempt: str, text: str, runtime: float) -> None:
        self._send("task-succeeded", attempt, result=text, runtime=runtime)

    def flush(self) -> None:
        with self._lock:
            self._dispatcher.flush()

    def _send(self, kind: str, attempt: str, **fields: Any) -> None:
        with self._lock:
            self._dispatcher.send(kind, utcoffset=self._offset, uuid=attempt, **fields)
        if not self._has_some.is_set():
            self._has_some.set()

    def _keep_up(self) -> None:
        while self._has_some.wait():
            self._clock.sleep(WAIT_SECONDS)
            self._has_some.clear()
            try:
                self.flush()
            except OperationalError as error:
                log.debug("the events of this message wait for its end: %s", error)

    def _offset(self) -> int:
        """Looked up once a message, not for each event."""
        return self._hours

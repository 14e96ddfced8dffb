"""Events of jobs that were passed on, as Flower expects them. They go out in bundles, like a worker's own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from celery import states
from celery.utils.time import utcoffset

BUNDLE = 120
"""Forty jobs or so; the rest goes out with the end of the message."""


class RelayEvents:
    """One per process: a forked child never uses its parent's connection."""

    _made: ClassVar[dict[int, RelayEvents]] = {}

    def __init__(self, app: Any, hostname: str) -> None:
        self._hours: int = utcoffset()
        self._dispatcher = app.events.Dispatcher(
            app.connection_for_write(), hostname=hostname, buffer_group=frozenset({"task"}), buffer_limit=BUNDLE
        )

    @classmethod
    def of(cls, app: Any, hostname: str) -> RelayEvents:
        if os.getpid() not in cls._made:
            cls._made.clear()
            cls._made[os.getpid()] = cls(app, hostname)
        made = cls._made[os.getpid()]
        made._hours = utcoffset()
        return made

    def begun(self, request: Mapping[str, Any]) -> None:
        """It was never received as a message, so no event says so: this one tells all there is to know."""
        self._send(
            "task-started",
            request["id"],
            name=request["task"],
            args=request["argsrepr"],
            kwargs=request["kwargsrepr"],
            root_id=request["root_id"],
            parent_id=None,
            retries=0,
        )

    def ended(self, attempt: str, answer: Any) -> None:
        """`answer` is what Celery's trace gives: what was returned or raised, how it ended, runtime, result as text."""
        retval, info, runtime, text = answer
        if info is None:
            self._send("task-succeeded", attempt, result=text, runtime=runtime)
        elif info.state in (states.FAILURE, states.RETRY):
            kind = "task-failed" if info.state == states.FAILURE else "task-retried"
            self._send(kind, attempt, exception=repr(info.retval), traceback=getattr(retval, "traceback", None))

    def flush(self) -> None:
        self._dispatcher.flush()

    def _send(self, kind: str, attempt: str, **fields: Any) -> None:
        self._dispatcher.send(kind, utcoffset=self._offset, uuid=attempt, **fields)

    def _offset(self) -> int:
        """Looked up once a message, not for each event."""
        return self._hours

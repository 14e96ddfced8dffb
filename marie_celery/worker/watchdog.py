"""Notices a worker that is alive and starts nothing: a pool whose processes hang, a consumer without its broker.

Such a worker must not offer slots that it cannot serve, nor keep messages from those who could start them. It says so
in its heartbeat, and stops renewing what it does not start; the lease of that ends and it is sent again, to others.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from marie_celery.clock import Clock, SystemClock

log = logging.getLogger(__name__)


class Watchdog:
    """Told with every heartbeat what the worker has in its hands; knows from that what to renew and what is wrong."""

    def __init__(self, seconds: float, clock: Clock | None = None) -> None:
        self._seconds = seconds
        self._clock = clock or SystemClock()
        self._since: dict[str, float] = {}
        self.trouble = ""
        """Why this worker starts nothing; empty while all is well."""

    def look(self, started: Mapping[str, bool], processes: int, is_connected: bool) -> list[str]:
        """started: for each message in hand, has a process begun it? Returns the messages to renew."""
        now = self._clock.monotonic()
        self._since = {message: self._since.get(message, now) for message, begun in started.items() if not begun}
        stuck: set[str] = set()
        # While all processes are at work, what waits behind them waits rightly.
        if sum(started.values()) < processes:
            stuck = {message for message, since in self._since.items() if now - since >= self._seconds}
        if not is_connected:
            self._note("it has no connection to its broker")
        elif stuck:
            self._note("its processes take nothing on")
        else:
            self._note("")
        return [message for message in started if message not in stuck]

    def _note(self, trouble: str) -> None:
        if trouble == self.trouble:
            return
        if trouble:
            log.error("this worker offers no slots: %s", trouble)
        else:
            log.info("this worker offers its slots")
        self.trouble = trouble

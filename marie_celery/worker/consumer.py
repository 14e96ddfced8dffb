"""Celery's consumer, which comes back to its broker quickly and however long that was away.

Celery itself waits longer after each try, up to half a minute, and gives up after a hundred. It also ends the worker
when the broken connection cannot be tidied up, as when messages are to be put back through it.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from celery.worker.consumer import Consumer

from marie_celery.worker.deliveries import keep_ours_in_memory

log = logging.getLogger(__name__)

RECONNECT_SECONDS = 1


class SteadfastConsumer(Consumer):  # type: ignore[misc]
    def connection_for_read(self, heartbeat: float | None = None) -> Any:
        """Of each connection, also after the first was lost: before anything asks its channel for what it notes."""
        connection = super().connection_for_read(heartbeat)
        keep_ours_in_memory(connection.default_channel)
        return connection

    def ensure_connected(self, conn: Any) -> Any:
        conn.ensure_connection = partial(
            conn.ensure_connection, interval_start=RECONNECT_SECONDS, interval_step=0, interval_max=RECONNECT_SECONDS
        )
        return super().ensure_connected(conn)

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        try:
            super().on_connection_error_after_connected(exc)
        except Exception:
            # Nothing depends on it: whatever was not started is sent again when its lease ends.
            log.info("the broken connection could not be tidied up", exc_info=True)
            self.connection = None

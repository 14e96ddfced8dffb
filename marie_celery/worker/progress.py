"""How far a job is, on its way to Redis: at most two writes a second, and always the last one."""

from __future__ import annotations

import logging
import math
import threading

from redis import RedisError

from marie_celery.clock import Clock, SystemClock
from marie_celery.store.store import Store

log = logging.getLogger(__name__)

INTERVAL_SECONDS = 0.5
NOTE_LENGTH = 200


class Progress:
    """Of one attempt. What comes too soon after a write waits for a timer, or for the end of the job; only the newest
    is kept. That Redis is away, or that the attempt is overtaken, is no concern of the task's code."""

    def __init__(self, store: Store, job: str, token: int, clock: Clock | None = None) -> None:
        self._store = store
        self._job = job
        self._token = token
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._newest: tuple[float, str] | None = None
        self._timer: threading.Timer | None = None
        self._next = -math.inf
        self._over = False

    def report(self, part: float, note: str = "") -> None:
        if isinstance(part, bool) or not isinstance(part, int | float) or not 0 <= part <= 1:
            raise ValueError(f"progress is a number from 0 to 1, not {part!r}")
        with self._lock:
            self._newest = (float(part), str(note)[:NOTE_LENGTH])
            wait = self._next - self._clock.monotonic()
            if wait <= 0:
                self._write()
            elif self._timer is None and not self._over:
                self._timer = threading.Timer(wait, self._write_late)
                self._timer.daemon = True
                self._timer.start()

    def _write_late(self) -> None:
        with self._lock:
            self._timer = None
            self._write()

    def _write(self) -> None:
        if self._newest is None or self._over:
            return
        (part, note), self._newest = self._newest, None
        self._next = self._clock.monotonic() + INTERVAL_SECONDS
        try:
            self._over = not self._store.progress(self._job, self._token, part, note)
        except RedisError as error:
            log.debug("the progress of %s is not known: %s", self._job, error)

    def close(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            self._write()
            self._over = True

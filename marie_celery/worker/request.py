"""What the parent process of a worker sees and its children cannot tell: lost processes, hard time limits."""

from __future__ import annotations

import logging
from typing import Any

from billiard.einfo import ExceptionWithTraceback
from billiard.exceptions import Terminated, WorkerLostError
from celery.worker import state
from celery.worker.request import Request
from redis import RedisError

from marie_celery.model.retry import FailureKind
from marie_celery.store.keys import split_attempt
from marie_celery.worker.events import Told
from marie_celery.worker.task import is_attempt

log = logging.getLogger(__name__)


class MarieRequest(Request):  # type: ignore[misc]
    def on_timeout(self, soft: bool, timeout: float) -> None:
        super().on_timeout(soft, timeout)
        if not soft:
            self._report(FailureKind.TIMEOUT, "TimeLimitExceeded", f"stopped after its time limit of {timeout} s")

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> Any:
        error = exc_info.exception
        if isinstance(error, ExceptionWithTraceback):
            error = error.exc
        # In a cold shutdown Celery ends the processes itself; the heartbeat hands back what they ran.
        if isinstance(error, WorkerLostError | Terminated) and state.should_terminate is None:
            self._report(FailureKind.CRASH, type(error).__name__, str(error))
        return super().on_failure(exc_info, send_failed_event=send_failed_event, return_ok=return_ok)

    def send_event(self, type: str, **fields: Any) -> Any:
        return None if isinstance(fields.get("result"), Told) else super().send_event(type, **fields)

    def _report(self, kind: FailureKind, name: str, message: str) -> None:
        if not is_attempt(self.id):
            return
        from marie_celery.extension import Marie

        store = Marie.of(self.app).store
        try:
            # Not the job that the message brought, if the process had gone on to another.
            for attempt in store.attempts_under(self.hostname, self.id) or [self.id]:
                job, token = split_attempt(attempt)
                store.fail(job, token, self.hostname, kind, {"type": name, "message": message})
        except RedisError as error:
            log.warning("could not report the %s of %s (%s); its lease will tell", kind, self.id, error)

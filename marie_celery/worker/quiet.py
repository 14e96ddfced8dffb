"""A job that was passed on, and that nobody watches.

Celery's trace looks after signals, handlers, log lines, results and callbacks, also where there are none: a third of
what a relayed job costs in Python. Where there are none, nothing of it shows. So such a job is only given its place as
the current task, and is called. When it ends in any other way than well, Celery's trace is run after all, and is given
what was raised: a failure is told, logged and handled as ever.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from typing import Any

from celery import signals
from celery._state import _task_stack
from celery.app import trace
from celery.app.task import Context
from celery.loaders.base import BaseLoader
from celery.utils.saferepr import saferepr

from marie_celery.clock import Clock

_log = logging.getLogger(trace.__name__)
_SIGNALS = (signals.task_prerun, signals.task_success, signals.task_postrun)
_HANDLERS = ("before_start", "on_success", "after_return")


def is_unwatched(task: Any) -> bool:
    """Would nobody notice that this is not Celery's own trace, if all goes well?"""
    return _has_nothing_of_its_own(task) and not _log.isEnabledFor(logging.INFO) and not _has_listeners()


def _has_listeners() -> bool:
    return any(signal.receivers for signal in _SIGNALS)


@cache
def _has_nothing_of_its_own(task: Any) -> bool:
    from marie_celery.worker.task import MarieTask

    loader = type(task.app.loader)
    return (
        not any(trace.task_has_custom(task, handler) for handler in _HANDLERS)
        and type(task).__call__ is MarieTask.__call__
        # Monitors that want to see all of a task put their own in the place of this one.
        and trace.build_tracer.__module__ == trace.__name__
        and loader.on_task_init is BaseLoader.on_task_init
        and loader.on_process_cleanup is BaseLoader.on_process_cleanup
    )


class QuietTrace:
    """For the jobs that are passed on under one message, whose request is given."""

    def __init__(self, app: Any, request: Mapping[str, Any], clock: Clock) -> None:
        from marie_celery.worker.task import run_attempt

        self._app = app
        self._clock = clock
        self._run_attempt = run_attempt
        self._common = vars(Context(request, called_directly=False, is_eager=False))
        self._keeps_results = not self._common.get("ignore_result")
        self._raised: dict[str, Exception] = {}

    def run(self, task: Any, attempt: str, own: Mapping[str, Any], *, is_shown: bool) -> Any:
        """What Celery's trace gives. `own` is what the request of this job has for itself; the result is made a text
        only where that is shown."""
        if self._keeps_results or not is_unwatched(task):
            return self._run_by_celery(task, attempt, own)
        context = Context.__new__(Context)
        vars(context).update(self._common)
        vars(context).update(own)
        began = self._clock.monotonic()
        _task_stack.push(task)
        task.request_stack.push(context)
        try:
            value = self._run_attempt(task)
        except Exception as error:
            self._raised[attempt] = error
        finally:
            _task_stack.pop()
            task.request_stack.pop()
        if self._raised:
            return self._run_by_celery(task, attempt, own)
        runtime = self._clock.monotonic() - began
        return trace.trace_ok_t(value, None, runtime, saferepr(value, task.resultrepr_maxsize) if is_shown else "")

    def raised(self, attempt: str) -> Exception | None:
        """What this attempt has raised already, to be raised again where Celery sees it."""
        return self._raised.pop(attempt, None)

    def _run_by_celery(self, task: Any, attempt: str, own: Mapping[str, Any]) -> Any:
        return trace.trace_task(task, attempt, own["args"], own["kwargs"], {**self._common, **own}, app=self._app)

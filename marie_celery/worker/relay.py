"""The relay: after a job the worker goes on with the next one, inside the same Celery message.

With the end of a job the store hands over the best job that waits for the slot it leaves: `include/relay.lua` chooses.
It runs here by Celery's own trace, wherever somebody could tell the difference (`quiet.py`): signals, handlers and log
lines are those of a message of its own, and its events are sent from here, since the parent process knows only of the
message that came. The way back to the parent is taken
when nothing is ready, or when `relay_seconds` are over: plain Celery tasks of the same worker get their turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from celery import current_app
from celery.app.trace import fast_trace_task, trace_task_ret

from marie_celery.clock import Clock, SystemClock
from marie_celery.store.keys import attempt_id, run_of
from marie_celery.store.records import Started, Taken
from marie_celery.worker.events import RelayEvents, Told
from marie_celery.worker.quiet import QuietTrace

WISH = "marie_relay"
"""Under this name the parent tells a process, beside the message, that and how it may go on."""


class Baton:
    """What is passed on from job to job of one message."""

    def __init__(self, message: str, seconds: float, clock: Clock, trace: QuietTrace) -> None:
        self.message = message
        self.trace = trace
        self._clock = clock
        self._end = clock.monotonic() + seconds
        self._taken: Taken | None = None
        self._begun: dict[str, Started] = {}

    @property
    def is_over(self) -> bool:
        return self._clock.monotonic() >= self._end

    def put(self, taken: Taken | None) -> None:
        self._taken = taken

    def take(self) -> Taken | None:
        taken, self._taken = self._taken, None
        if taken is not None:
            self._begun = {attempt_id(taken.job_id, taken.token): taken.started}
        return taken

    def begun(self, attempt: str) -> Started | None:
        return self._begun.pop(attempt, None)


_baton: ContextVar[Baton | None] = ContextVar("marie_baton", default=None)


def message_to_go_on() -> str:
    """The message under which this process would take another job; '' if it would not."""
    baton = _baton.get()
    return "" if baton is None or baton.is_over else baton.message


def message_of(attempt: str) -> str:
    """The message that this process has in hand while it runs an attempt."""
    baton = _baton.get()
    return attempt if baton is None else baton.message


def pass_on(taken: Taken | None) -> None:
    baton = _baton.get()
    if baton is not None:
        baton.put(taken)


def already_begun(attempt: str) -> Started | None:
    """What an attempt needs to know that was passed on to this process; None if a message brought it."""
    baton = _baton.get()
    return None if baton is None else baton.begun(attempt)


def raised_already(attempt: str) -> Exception | None:
    """What an attempt that this process has run has raised; Celery is to see it now."""
    baton = _baton.get()
    return None if baton is None else baton.trace.raised(attempt)


def fast_relay(*message: Any) -> Any:
    return _run(fast_trace_task, *message)


def plain_relay(*message: Any) -> Any:
    return _run(trace_task_ret, *message)


TRACES: Mapping[Callable[..., Any], Callable[..., Any]] = {fast_trace_task: fast_relay, trace_task_ret: plain_relay}


def _run(trace: Callable[..., Any], name: str, attempt: str, request: dict[str, Any], *body: Any) -> Any:
    wish = request.pop(WISH)
    app = current_app._get_current_object()
    clock = SystemClock()
    quiet = QuietTrace(app, {**request, "hostname": wish["hostname"]}, clock)
    before = _baton.set(baton := Baton(attempt, wish["seconds"], clock, quiet))
    events = RelayEvents.of(app, wish["hostname"], clock) if wish["events"] else None
    try:
        answer = trace(name, attempt, request, *body)
        taken = baton.take()
        if taken is not None and events is not None:
            answer = _tell(attempt, answer, events)
        while taken is not None:
            _go_on(app, taken, quiet, events)
            taken = baton.take()
    finally:
        _baton.reset(before)
        if events is not None:
            events.flush()
    return answer


def _tell(attempt: str, answer: tuple[int, str, float], events: RelayEvents) -> tuple[int, str, float]:
    """That the job which the message brought has ended, though the message is not done. It succeeded: after anything
    else nothing is passed on."""
    failed, text, runtime = answer
    events.succeeded(attempt, text, runtime)
    return failed, Told(text), runtime


def _go_on(app: Any, taken: Taken, quiet: QuietTrace, events: RelayEvents | None) -> None:
    attempt = attempt_id(taken.job_id, taken.token)
    args, _, kwargs = taken.started.inputs.partition("\n")
    own = {
        "id": attempt,
        "correlation_id": attempt,
        "task": taken.task,
        "root_id": run_of(taken.job_id),
        "args": (),
        "kwargs": {},
        "argsrepr": args[:1024],
        "kwargsrepr": kwargs[:1024],
    }
    if events is not None:
        events.begun(own)
    answer = quiet.run(app.tasks[taken.task], attempt, own, is_shown=events is not None)
    if events is not None:
        events.ended(attempt, answer)

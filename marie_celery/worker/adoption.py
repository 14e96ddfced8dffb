"""Plain Celery tasks as jobs: what a canvas needs when it has tasks that were not written with `@task`.

A task of the app is adopted in place: its class gets one more base, which runs a job if the message is an attempt of
one and leaves every other call as it was. Its executor is the queue that Celery's router chooses. Celery tries a failed
task again only if the task says so (`retry`, `autoretry_for`), and so do we: any other error of it is final.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from functools import wraps
from typing import Any

from celery import Celery
from celery.app.trace import task_has_custom
from celery.exceptions import MaxRetriesExceededError

from marie_celery.authoring.canvas import ERRBACK
from marie_celery.authoring.canvas_options import executor_of
from marie_celery.authoring.options import JobOptions
from marie_celery.authoring.task import Task
from marie_celery.authoring.types import ForeignSignature
from marie_celery.config import Settings
from marie_celery.errors import ConfigError, MarieError, RetryAfter
from marie_celery.worker.current import current_job
from marie_celery.worker.task import run_attempt, runs_a_job

log = logging.getLogger(__name__)

_STOCK_REQUEST = "celery.worker.request:Request"
_OUR_REQUEST = "marie_celery.worker.request:MarieRequest"

# These run another task, on whose executor depends where they run.
_RUN_OTHERS = frozenset({"celery.map", "celery.starmap", ERRBACK})

_AS_OFTEN_AS_THE_TASK_SAYS = 1_000_000

_NO_CHANGES = "a canvas that was submitted here cannot be changed while it runs; call the task with delay() for that"


def adopt_plain_tasks(app: Celery, settings: Settings) -> None:
    """Make jobs of all tasks of the app possible. Those that are adopted or ours already stay as they are."""
    for name, item in list(app.tasks.items()):
        internal = name.startswith(("celery.", "marie.")) and name not in _RUN_OTHERS
        if not internal and getattr(item, "marie", None) is None:
            _adopt(app, settings, item)


def _adopt(app: Celery, settings: Settings, item: Any) -> None:
    plain = type(item)
    executor = None
    if item.name not in _RUN_OTHERS:
        try:
            queue = getattr(item, "queue", None)
            executor = executor_of(app, settings, item.name, {"queue": queue} if queue else {})
        except ConfigError:
            return  # a canvas that has it is told so
    call: Callable[..., Any] = item.run if not task_has_custom(item, "__call__") else plain.__call__.__get__(item)
    made: Task[..., Any] = Task(
        _carry(item, call),
        name=item.name,
        options=JobOptions(
            executor=executor,
            retry_limit=_AS_OFTEN_AS_THE_TASK_SAYS,
            time_limit=item.time_limit,
            soft_time_limit=item.soft_time_limit,
        ),
        retry_on=(),
        give_up_on=(Exception,),
        celery_options={},
        app=app,
    )
    made.signature_of_function = ForeignSignature(made.function, made.name)
    extra = {"marie": made, "_plain_call": staticmethod(call), "__module__": plain.__module__}
    if item.Request == _STOCK_REQUEST:
        extra["Request"] = _OUR_REQUEST
    try:
        item.__class__ = type(plain.__name__, (Adopted, plain), extra)
    except TypeError as error:  # a class that Python cannot change
        log.warning("%s cannot be part of a canvas: %s", item.name, error)


def _carry(item: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    """The function of the job. What the task reads of its request is as if Celery had sent the arguments."""

    @wraps(item.run)
    def carried(*args: Any, **kwargs: Any) -> Any:
        item.request.update(args=args, kwargs=kwargs, retries=current_job().attempt - 1)
        return call(*args, **kwargs)

    return carried


class Adopted:
    """Stands before the class of a plain task."""

    marie: Task[..., Any]
    request: Any
    app: Celery
    max_retries: int | None
    default_retry_delay: float
    _plain_call: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return run_attempt(self) if runs_a_job(self) else self._plain_call(*args, **kwargs)

    def retry(
        self,
        args: Any = None,
        kwargs: Any = None,
        exc: Exception | None = None,
        throw: bool = True,
        eta: datetime | None = None,
        countdown: float | None = None,
        max_retries: int | None = None,
        **options: Any,
    ) -> Any:
        """As Celery's, but the job is tried again instead of a message sent."""
        if not runs_a_job(self):
            return super().retry(args, kwargs, exc, throw, eta, countdown, max_retries, **options)  # type: ignore[misc]
        if args is not None or kwargs is not None:
            raise MarieError("retry() inside of a job cannot change its arguments")
        most = self.max_retries if max_retries is None else max_retries
        if most is not None and self.request.retries >= most:
            raise exc or MaxRetriesExceededError(f"tried again {most} times")
        if eta is not None:
            countdown = max(0.0, (eta - self.app.now()).total_seconds())
        raise RetryAfter(self.default_retry_delay if countdown is None else countdown, str(exc or "")) from exc

    def replace(self, sig: Any) -> Any:
        if not runs_a_job(self):
            return super().replace(sig)  # type: ignore[misc]
        raise MarieError(f"replace(): {_NO_CHANGES}")

    def add_to_chord(self, sig: Any, lazy: bool = False) -> Any:
        if not runs_a_job(self):
            return super().add_to_chord(sig, lazy)  # type: ignore[misc]
        raise MarieError(f"add_to_chord(): {_NO_CHANGES}")

"""Runs one attempt of a job: start, resolve the inputs, call the function, report how it ended."""

from __future__ import annotations

import random
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from celery.exceptions import Ignore, Retry, SoftTimeLimitExceeded

from marie_celery.errors import RetryAfter, Skip, Wait
from marie_celery.model.retry import FailureKind
from marie_celery.payloads import Payloads
from marie_celery.store.keys import run_of, split_attempt
from marie_celery.store.patience import patient
from marie_celery.store.records import Started
from marie_celery.store.store import Store
from marie_celery.worker.calling import Call, describe_error, is_final
from marie_celery.worker.current import CurrentJob, become_current, stop_being_current
from marie_celery.worker.environment import items_in_environment
from marie_celery.worker.progress import Progress
from marie_celery.worker.relay import already_begun, message_of, message_to_go_on, pass_on, raised_already

if TYPE_CHECKING:
    from marie_celery.authoring.task import Task


class Attempt:
    """One delivery of a job. What it returns or raises is what Celery, and so Flower, shows for it."""

    def __init__(self, store: Store, task: Task[..., Any], attempt: str, worker: str) -> None:
        self.store = store
        self.payloads = Payloads.of(store)
        self.task = task
        self.worker = worker
        self.attempt = attempt
        self.job_id, self.token = split_attempt(attempt)

    def run(self) -> Any:
        if (raised := raised_already(self.attempt)) is not None:
            raise raised
        started = already_begun(self.attempt) or self._start()
        try:
            value, text = self._call(started)
        except Skip as skip:
            self._end("skipped", skip.reason)
            return None
        except Wait as wait:
            with self._insisting():
                counts = self.store.wait(self.job_id, self.token, self.worker, wait.reason or str(wait), wait.seconds)
            self._must_count(counts)
            raise Retry(f"job {self.job_id} waits: {wait}", exc=wait) from wait
        except RetryAfter as again:
            self._fail(again, FailureKind.FAILURE, delay_seconds=again.seconds)
        except SoftTimeLimitExceeded as error:
            self._fail(error, FailureKind.TIMEOUT)
        except Exception as error:
            self._fail(error, FailureKind.FAILURE, give_up=is_final(self.task, error))
        self._end("completed", text)
        return value

    def _start(self) -> Started:
        with patient(self.store.settings.lease_ttl_seconds):
            started = self.store.start(self.job_id, self.token, self.worker, self.attempt)
        if started is None:
            raise Ignore(f"attempt {self.token} of {self.job_id} is stale")
        return started

    def _end(self, how: Literal["completed", "skipped"], text: str) -> None:
        message = "" if self.task.job_options.relay is False else message_to_go_on()
        with self._insisting():
            ended = self.store.end(self.job_id, self.token, self.worker, how, text, message)
        self._must_count(ended.counts)
        pass_on(ended.next)

    def _call(self, started: Started) -> tuple[Any, str]:
        call = Call(self.task, started.inputs, started.results.get, self.payloads, is_batch="batch" in started.job)
        description = _Description(self, started, call)
        before = become_current(description)
        try:
            with items_in_environment(started.items) if started.items else nullcontext():
                value, text = call.make(self.attempt, message_of(self.attempt))
        finally:
            stop_being_current(before)
            description.close()
        if "ask_again" in started.job and not value:
            raise Wait(f"the gate answered {value!r}")
        return value, text

    def _fail(self, error: Exception, kind: FailureKind, **how: Any) -> None:
        """Reports, then raises what tells Celery the same."""
        with self._insisting():
            state = self.store.fail(
                self.job_id, self.token, self.worker, kind, describe_error(error), roll=random.random(), **how
            )
        self._must_count(state is not None)
        if state != "failed":
            raise Retry(f"{kind} of job {self.job_id}", exc=error) from error
        raise error

    def _insisting(self) -> AbstractContextManager[None]:
        """What was done must not be lost because Redis is away; after `run_ttl_seconds` the job is another's."""
        return patient(self.store.settings.run_ttl_seconds)

    def _must_count(self, accepted: bool) -> None:
        if not accepted:
            raise Ignore(f"attempt {self.token} of {self.job_id} was overtaken; what it did does not count")


class _Description:
    """The `CurrentJob` of an attempt, made when somebody asks for it."""

    __slots__ = ("_attempt", "_call", "_lock", "_made", "_progress", "_started")

    def __init__(self, attempt: Attempt, started: Started, call: Call) -> None:
        self._attempt = attempt
        self._started = started
        self._call = call
        self._lock = Lock()
        self._made: CurrentJob | None = None
        self._progress: Progress | None = None

    def __call__(self) -> CurrentJob:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def close(self) -> None:
        with self._lock:
            if self._progress is not None:
                self._progress.close()

    def _make(self) -> CurrentJob:
        attempt, started, call = self._attempt, self._started, self._call
        self._progress = Progress(attempt.store, attempt.job_id, attempt.token)
        return CurrentJob(
            job_id=attempt.job_id,
            run_id=run_of(attempt.job_id),
            dag=started.dag,
            name=started.job["name"],
            task=attempt.task.name,
            executor=started.job["executor"],
            attempt=attempt.token,
            token=attempt.token,
            worker=attempt.worker,
            args=call.args,
            kwargs=call.kwargs,
            items=started.items,
            _progress=self._progress,
        )

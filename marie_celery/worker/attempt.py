"""Runs one attempt of a job: start, resolve the inputs, call the function, report how it ended."""

from __future__ import annotations

import random
import traceback
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from celery.exceptions import Ignore, Retry, SoftTimeLimitExceeded

from marie_celery.authoring.payload import decode_arguments, encode_result
from marie_celery.errors import PayloadError, RetryAfter, Skip, Wait
from marie_celery.model.retry import FailureKind
from marie_celery.payloads import Payloads
from marie_celery.store.keys import attempt_id, run_of, split_attempt
from marie_celery.store.patience import patient
from marie_celery.store.records import Started
from marie_celery.store.store import Store
from marie_celery.worker.batch import run_batch
from marie_celery.worker.coroutines import call
from marie_celery.worker.current import CurrentJob, as_current
from marie_celery.worker.environment import items_in_environment
from marie_celery.worker.progress import Progress

if TYPE_CHECKING:
    from marie_celery.authoring.task import Task

TRACEBACK_LIMIT = 16_384


class Attempt:
    """One delivery of a job. What it returns or raises is what Celery, and so Flower, shows for it."""

    def __init__(self, store: Store, task: Task[..., Any], attempt: str, worker: str) -> None:
        self.store = store
        self.payloads = Payloads.of(store)
        self.task = task
        self.worker = worker
        self.message = attempt
        self.job_id, self.token = split_attempt(attempt)

    def run(self) -> Any:
        with patient(self.store.settings.lease_ttl_seconds):
            started = self.store.start(self.job_id, self.token, self.worker, self.message)
        if started is None:
            raise Ignore(f"attempt {self.token} of {self.job_id} is stale")
        try:
            value, text = self._call(started)
        except Skip as skip:
            with self._insisting():
                counts = self.store.skip(self.job_id, self.token, self.worker, skip.reason)
            self._must_count(counts)
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
            self._fail(error, FailureKind.FAILURE, give_up=self._is_final(error))
        with self._insisting():
            counts = self.store.finish(self.job_id, self.token, self.worker, text)
        self._must_count(counts)
        return value

    def _call(self, started: Started) -> tuple[Any, str]:
        args, kwargs = self._arguments(started)
        with (
            Progress(self.store, self.job_id, self.token) as progress,
            as_current(self._describe(started, args, kwargs, progress)),
            items_in_environment(started.items),
        ):
            if "batch" in started.job:
                value, texts = run_batch(self.task, args, kwargs, self.message)
            else:
                value = call(self.task.function, args, kwargs, self.message)
        if "ask_again" in started.job and not value:
            raise Wait(f"the gate answered {value!r}")
        attempt, what = attempt_id(self.job_id, self.token), f"the result of {self.task.name}"
        if "batch" in started.job:
            return value, self.payloads.seal_list(texts, attempt, what)
        return value, self.payloads.seal(encode_result(value, self.task.signature_of_function), attempt, what)

    def _arguments(self, started: Started) -> tuple[tuple[Any, ...], dict[str, Any]]:
        cache: dict[int, Any] = {}

        def result_of(number: int) -> Any:
            if number not in cache:
                text = started.results.get(number)
                cache[number] = None if text is None else self.payloads.loads(text)
            return cache[number]

        args, kwargs = decode_arguments(started.inputs, result_of)
        if "batch" in started.job:
            return tuple(args), kwargs
        return self.task.signature_of_function.restore_arguments(args, kwargs)

    def _describe(
        self, started: Started, args: tuple[Any, ...], kwargs: dict[str, Any], progress: Progress
    ) -> CurrentJob:
        return CurrentJob(
            job_id=self.job_id,
            run_id=run_of(self.job_id),
            dag=started.dag,
            name=started.job["name"],
            task=self.task.name,
            executor=started.job["executor"],
            attempt=self.token,
            token=self.token,
            worker=self.worker,
            args=args,
            kwargs=kwargs,
            items=started.items,
            _progress=progress,
        )

    def _is_final(self, error: Exception) -> bool:
        if isinstance(error, (PayloadError, *self.task.give_up_on)):
            return True
        return bool(self.task.retry_on) and not isinstance(error, self.task.retry_on)

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


def describe_error(error: BaseException) -> dict[str, str]:
    text = "".join(traceback.format_exception(error))
    return {"type": type(error).__name__, "message": str(error), "traceback": text[-TRACEBACK_LIMIT:]}

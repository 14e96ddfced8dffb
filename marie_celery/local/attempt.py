"""One try of a job in this process."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from celery.exceptions import SoftTimeLimitExceeded

from marie_celery.errors import RetryAfter, Skip, Wait
from marie_celery.local.events import Completed, Failed, Report, Skipped, Waited
from marie_celery.local.jobs import Job
from marie_celery.model.retry import FailureKind
from marie_celery.payloads import Unsealed
from marie_celery.store.keys import attempt_id, job_id
from marie_celery.worker.calling import Call, describe_error, is_final
from marie_celery.worker.current import CurrentJob, as_current

if TYPE_CHECKING:
    from marie_celery.authoring.task import Task

WORKER = "local"


@dataclass(frozen=True, slots=True)
class Attempt:
    """All that the call needs, so that it can be made in any thread while the run goes on."""

    job: Job
    token: int
    task: Task[..., Any]
    run_id: str
    dag: str
    result_text: Callable[[int], str | None]
    max_result_bytes: int

    def run(self) -> Report:
        """Never raises what a job can die of. What ends the process (Ctrl-C) passes through."""
        number, token = self.job.number, self.token
        try:
            return Completed(number, token, self._call())
        except Skip as skip:
            return Skipped(number, token, skip.reason)
        except Wait as wait:
            return Waited(number, token, wait.reason or str(wait), wait.seconds)
        except RetryAfter as again:
            return self._failed(FailureKind.FAILURE, again, delay=again.seconds)
        except SoftTimeLimitExceeded as error:
            return self._failed(FailureKind.TIMEOUT, error)
        except Exception as error:
            return self._failed(FailureKind.FAILURE, error, give_up=is_final(self.task, error))
        except SystemExit as error:
            # It would have taken the worker's process with it.
            return self._failed(FailureKind.CRASH, error)

    def _failed(self, kind: FailureKind, error: BaseException, **how: Any) -> Failed:
        return Failed(self.job.number, self.token, kind, describe_error(error), roll=random.random(), **how)

    def _call(self) -> str:
        job = self.job
        payloads = Unsealed(self.max_result_bytes)
        call = Call(self.task, job.inputs, self.result_text, payloads, is_batch=job.batch is not None)
        with as_current(self._describe(call.args, call.kwargs)):
            value, text = call.make(attempt_id(job_id(self.run_id, job.number), self.token))
        if "ask_again" in job.fields and not value:
            raise Wait(f"the gate answered {value!r}")
        return text

    def _describe(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CurrentJob:
        return CurrentJob(
            job_id=job_id(self.run_id, self.job.number),
            run_id=self.run_id,
            dag=self.dag,
            name=self.job.name,
            task=self.task.name,
            executor=self.job.executor,
            attempt=self.token,
            token=self.token,
            worker=WORKER,
            args=args,
            kwargs=kwargs,
        )

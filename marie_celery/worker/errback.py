"""`marie.errback`: calls an error callback of a canvas as Celery would, from the error that Redis has of the job."""

from __future__ import annotations

import builtins
import inspect
from typing import TYPE_CHECKING, Any

from celery.app.task import Context
from celery.utils.serialization import create_exception_cls

from marie_celery.authoring.canvas import ERRBACK
from marie_celery.authoring.payload import decode_arguments
from marie_celery.errors import Skip
from marie_celery.model.states import WorkState
from marie_celery.store.keys import attempt_id, job_id
from marie_celery.store.reading import Reader
from marie_celery.store.records import JobView
from marie_celery.worker.current import current_job

if TYPE_CHECKING:
    from marie_celery.extension import Marie


def add_errback_task(marie: Marie) -> None:
    app = marie.app

    @app.task(name=ERRBACK, shared=False)  # type: ignore[untyped-decorator]
    def errback(callback: dict[str, Any], watched: list[int]) -> Any:
        reader = marie.reader
        failed = first_failed(reader, watched)
        if failed is None:
            raise Skip("nothing that it watches has failed")
        signature = app.signature(callback)
        facts: tuple[Any, ...] = (failed.job_id,)
        if _takes_the_error(signature):
            facts = (request_of(reader, failed), exception_of(failed), (failed.error or {}).get("traceback", ""))
        return signature(*facts)


def first_failed(reader: Reader, watched: list[int]) -> JobView | None:
    """What depends on a failed job is skipped, and not told of."""
    run = current_job().run_id
    jobs = (reader.job(job_id(run, number)) for number in watched)
    return next((job for job in jobs if job.state is WorkState.FAILED), None)


def request_of(reader: Reader, job: JobView) -> Context:
    args, kwargs = decode_arguments(reader.inputs(job.job_id) or "[]\n{}", lambda number: f"<result of {number}>")
    return Context(
        id=attempt_id(job.job_id, job.attempt), task=job.task, args=args, kwargs=kwargs, hostname=job.worker
    )


def exception_of(job: JobView) -> Exception:
    """A builtin is itself again; of others there is the name, as with Celery's own JSON."""
    error = job.error or {}
    name = error.get("type", "Exception")
    found = getattr(builtins, name, None)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        found = create_exception_cls(name, __name__)
    made: Exception = found(error.get("message", ""))
    return made


def _takes_the_error(signature: Any) -> bool:
    """request, exc, traceback; else it takes the id alone, or nothing if it is immutable."""
    if signature.immutable:
        return False
    parameters = inspect.signature(signature.type.run).parameters.values()
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return True
    places = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return len(places) - len(signature.args) > 1

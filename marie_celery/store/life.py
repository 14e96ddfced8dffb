"""From the submission of a run to the end of its jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Literal

from marie_celery.errors import DuplicateRun, RunWaits, ServerError
from marie_celery.model.retry import FailureKind
from marie_celery.store.caller import Caller, as_mapping, counted, in_ms, pairs
from marie_celery.store.codes import Code
from marie_celery.store.records import Ended, NewJob, NewRun, Started, Taken

_dumps = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode

# Jobs per call while a large run is staged: long enough to be fast, short enough not to hold Redis up.
CHUNK = 400
CHUNK_TEXT = 16 << 20


def chunks(jobs: Sequence[NewJob]) -> Iterator[Sequence[NewJob]]:
    """One at least."""
    first = size = 0
    for number, job in enumerate(jobs):
        if number - first == CHUNK or (size and size + len(job.inputs) > CHUNK_TEXT):
            yield jobs[first:number]
            first, size = number, 0
        size += len(job.inputs)
    yield jobs[first:]


class Life(Caller):
    def submit(self, run: NewRun) -> str:
        """Accept a run, all or nothing, and make its roots ready. Returns its id."""
        run_id = ""
        staging_ms = in_ms(self.settings.staging_ttl_seconds)
        first = 0
        for chunk in chunks(run.jobs):
            last = first + len(chunk) == len(run.jobs)
            arguments: list[object] = [run_id, int(last), staging_ms, run.key, run.duplicates, run.highlander]
            arguments += [in_ms(self.settings.lease_ttl_seconds), self.settings.max_concurrency]
            if run_id:
                arguments += [0, 0, 0]
            else:
                arguments += [*counted(run.fields), *counted(run.specs)]
                arguments += [len(run.executors), *run.executors]
            arguments += [first, _dumps([[job.inputs, *chain.from_iterable(job.fields.items())] for job in chunk])]
            code, answer = self.call("submit", *arguments)
            if code == Code.DUPLICATE:
                raise DuplicateRun(run.key, answer)
            if code == Code.WAITING:
                raise RunWaits(answer)
            if code == Code.GONE:
                raise ServerError(
                    f"the submission took longer than staging_ttl_seconds ({self.settings.staging_ttl_seconds}) "
                    "between two chunks and was dropped; nothing of it is stored"
                )
            run_id = answer
            first += len(chunk)
        return run_id

    def start(self, job: str, token: int, worker: str, message: str) -> Started | None:
        """A worker begins the attempt that this Celery message brought; None if the delivery is stale."""
        answer = self.call("start", job, token, worker, message, in_ms(self.settings.run_ttl_seconds))
        if answer[0] != Code.OK:
            return None
        return _started(answer[1])

    def progress(self, job: str, token: int, part: float, note: str) -> bool:
        """How far the attempt is, 0 to 1. False if its token is stale."""
        return bool(self.call("progress", job, token, f"{part:.4g}", note)[0] == Code.OK)

    def finish(self, job: str, token: int, worker: str, result: str) -> bool:
        """The attempt completed. False if its token is stale: nothing was changed."""
        return self.end(job, token, worker, "completed", result).counts

    def skip(self, job: str, token: int, worker: str, reason: str) -> bool:
        """The attempt asked to be skipped."""
        return self.end(job, token, worker, "skipped", reason).counts

    def end(
        self, job: str, token: int, worker: str, how: Literal["completed", "skipped"], text: str, message: str = ""
    ) -> Ended:
        """The attempt completed with this result, or was skipped for this reason. With the id of a Celery message the
        worker is ready to go on under it, and may be given the next job in the same step."""
        answer = self.call("finish", job, token, worker, how, text, message, *self._finish_settings)
        if answer[0] != Code.OK:
            return Ended(False)
        if len(answer) < 2 or not answer[1]:
            return Ended(True)
        next_job, next_token, *known = answer[1]
        return Ended(True, Taken(next_job, int(next_token), _started(known)))

    @cached_property
    def _finish_settings(self) -> tuple[int, int, int]:
        settings = self.settings
        return in_ms(settings.run_ttl_seconds), settings.max_concurrency, in_ms(settings.lease_ttl_seconds)

    def wait(self, job: str, token: int, worker: str, reason: str, seconds: float | None = None) -> bool:
        """The attempt says that it is too early; it is asked again, after so many seconds or as its options say."""
        delay = "" if seconds is None else in_ms(seconds)
        return bool(self.call("wait", job, token, worker, reason, delay)[0] == Code.OK)

    def fail(
        self,
        job: str,
        token: int,
        worker: str,
        kind: FailureKind,
        error: Mapping[str, str],
        *,
        give_up: bool = False,
        delay_seconds: float | None = None,
        roll: float = 0.0,
    ) -> str | None:
        """The attempt failed. Returns the job's new state (retry, ready, failed); None if stale."""
        answer = self.call(
            "fail",
            job,
            token,
            worker,
            kind.value,
            json.dumps(dict(error)),
            int(give_up),
            "" if delay_seconds is None else in_ms(delay_seconds),
            roll,
        )
        return answer[1] if answer[0] == Code.OK else None


def _started(known: Sequence[Any]) -> Started:
    inputs, fields, results, dag, booked = known
    return Started(
        inputs=inputs,
        job=as_mapping(fields),
        results={int(number): result for number, result in pairs(results)} if results else {},
        dag=dag,
        items={name: tuple(items.split(",")) for name, items in json.loads(booked) if items} if booked else {},
    )

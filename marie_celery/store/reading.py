"""Reading runs and jobs. Nothing here changes state."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from redis import Redis

from marie_celery.errors import UnknownJob, UnknownRun
from marie_celery.model.control import Control
from marie_celery.model.states import RunState, WorkState
from marie_celery.planning.estimates import RuntimeEstimate
from marie_celery.resources import ResourceSettings
from marie_celery.store.keys import Keys, job_id, number_of, run_of
from marie_celery.store.records import JobView, Returns, RunView
from marie_celery.store.resources import Definition

PAGE = 500


class Reader:
    def __init__(self, client: Redis, keys: Keys) -> None:
        self.client: Any = client  # answers are text (decode_responses), which the client's types cannot tell
        self.keys = keys

    def run(self, run_id: str) -> RunView:
        fields = self.client.hgetall(self.keys.run(run_id))
        if not _is_known(fields):
            raise UnknownRun(run_id)
        return _run_view(run_id, fields)

    def runs(self, limit: int = 50) -> list[RunView]:
        """The newest runs first."""
        ids = self.client.zrange(self.keys.runs, 0, limit - 1, desc=True)
        with self.client.pipeline(transaction=False) as pipe:
            for run_id in ids:
                pipe.hgetall(self.keys.run(run_id))
            found = pipe.execute()
        # One of them may have been forgotten since, or be about to be.
        known = ((run_id, fields) for run_id, fields in zip(ids, found, strict=True) if _is_known(fields))
        return [_run_view(run_id, fields) for run_id, fields in known]

    def run_state(self, run_id: str) -> RunState:
        state = self.client.hget(self.keys.run(run_id), "state")
        if state is None or state == "staging":
            raise UnknownRun(run_id)
        return RunState(state)

    def end_of(self, run_id: str) -> RunState | None:
        """How a run has ended; None if it has not."""
        with self.client.pipeline(transaction=False) as pipe:
            pipe.hget(self.keys.run(run_id), "state")
            pipe.lindex(self.keys.done(run_id), 0)
            state, end = pipe.execute()
        if state is None or state == "staging":
            raise UnknownRun(run_id)
        return RunState(end) if end else None

    def job(self, job: str) -> JobView:
        fields = self.client.hgetall(self.keys.job(job))
        if not fields:
            raise UnknownJob(job)
        error = self.client.hget(self.keys.errors(run_of(job)), str(number_of(job)))
        return _job_view(job, fields, error)

    def jobs(self, run_id: str) -> Iterator[JobView]:
        """All jobs of a run in the order of submission, read page by page."""
        total = int(self.client.hget(self.keys.run(run_id), "jobs") or 0)
        for first in range(0, total, PAGE):
            numbers = range(first, min(first + PAGE, total))
            ids = [job_id(run_id, number) for number in numbers]
            with self.client.pipeline(transaction=False) as pipe:
                for job in ids:
                    pipe.hgetall(self.keys.job(job))
                pipe.hmget(self.keys.errors(run_id), [str(number) for number in numbers])
                *found, errors = pipe.execute()
            for job, fields, error in zip(ids, found, errors, strict=True):
                if fields:
                    yield _job_view(job, fields, error)

    def returns(self, run_id: str, output: str, numbers: Sequence[int]) -> Returns:
        """What is to be known of the jobs whose results go into the output of a run."""
        tasks: dict[int, str] = {}
        maps: set[int] = set()
        for first in range(0, len(numbers), PAGE):
            page = numbers[first : first + PAGE]
            with self.client.pipeline(transaction=False) as pipe:
                for number in page:
                    pipe.hmget(self.keys.job(job_id(run_id, number)), "task", "control")
                answers = pipe.execute()
            for number, (task, control) in zip(page, answers, strict=True):
                tasks[number] = task
                if control == Control.MAP:
                    maps.add(number)
        return Returns(output, tasks, maps)

    def results(self, run_id: str, numbers: Sequence[int]) -> dict[int, str | None]:
        found: dict[int, str | None] = {}
        for first in range(0, len(numbers), PAGE):
            page = list(numbers[first : first + PAGE])
            values = self.client.hmget(self.keys.results(run_id), [str(number) for number in page])
            found.update(zip(page, values, strict=True))
        return found

    def inputs(self, job: str) -> str | None:
        found: str | None = self.client.hget(self.keys.inputs(run_of(job)), str(number_of(job)))
        return found

    def estimates(self) -> dict[str, RuntimeEstimate]:
        """What was learned of the runtime of each task."""
        found = self.client.hgetall(self.keys.estimates)
        return {task: RuntimeEstimate.from_text(text) for task, text in sorted(found.items())}

    def surroundings(
        self, tasks: Collection[str]
    ) -> tuple[int, dict[str, RuntimeEstimate], dict[str, ResourceSettings]]:
        """The time of Redis, what was learned of these tasks, and the resources, in one round trip."""
        names = sorted(tasks)
        with self.client.pipeline(transaction=False) as pipe:
            pipe.time()
            pipe.hmget(self.keys.estimates, names or [""])
            pipe.hgetall(self.keys.resources)
            (seconds, micros), found, resources = pipe.execute()
        known = {task: RuntimeEstimate.from_text(text) for task, text in zip(names, found, strict=False) if text}
        declared = {name: Definition.from_text(text).current for name, text in resources.items()}
        return seconds * 1000 + micros // 1000, known, declared

    def failed_jobs(self, run_id: str) -> dict[str, str]:
        """Name → error of every job that failed for good."""
        raw: dict[str, str] = self.client.hgetall(self.keys.errors(run_id))
        failed = {}
        for number in sorted(raw, key=int):
            job = self.job(job_id(run_id, int(number)))
            if job.state is WorkState.FAILED and job.error:
                failed[job.name] = f"{job.error.get('type', 'Error')}: {job.error.get('message', '')}"
        return failed


def _is_known(fields: dict[str, str]) -> bool:
    """Not before its submission is complete, not while it is being forgotten."""
    return bool(fields) and fields["state"] != "staging"


def _run_view(run_id: str, fields: dict[str, str]) -> RunView:
    def number(name: str) -> int | None:
        return int(fields[name]) if name in fields else None

    return RunView(
        run_id=run_id,
        state=RunState(fields["state"]),
        dag=fields["dag"],
        priority=int(fields["priority"]),
        jobs=int(fields["jobs"]),
        counts={state: int(fields[state]) for state in WorkState if int(fields.get(state, 0))},
        created_ms=int(fields["created_at"]),
        started_ms=number("started_at"),
        ended_ms=number("ended_at"),
        soft_ms=number("soft"),
        hard_ms=number("hard"),
        key=fields.get("key", ""),
        reason=fields.get("cancel", ""),
        output=fields.get("output", "null"),
        labels=json.loads(fields.get("labels", "{}")),
    )


def _job_view(job: str, fields: dict[str, str], error: str | None) -> JobView:
    told = "progress" in fields and fields["progress_token"] == fields.get("token")
    return JobView(
        job_id=job,
        state=WorkState(fields["state"]),
        task=fields["task"],
        name=fields["name"],
        executor=fields["executor"],
        level=int(fields["level"]),
        attempt=int(fields.get("token", 0)),
        reason=fields.get("reason", ""),
        worker=fields.get("worker", ""),
        changed_ms=int(fields["at"]) if "at" in fields else None,
        children=fields.get("children", ""),
        control=fields.get("control", ""),
        error=json.loads(error) if error else None,
        progress=float(fields["progress"]) if told else None,
        progress_note=fields["progress_note"] if told else "",
    )

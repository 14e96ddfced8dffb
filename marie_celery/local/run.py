"""A run that has ended in this process. It answers as the `Run` of a cluster does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from marie_celery.errors import RunFailed, UnknownJob
from marie_celery.local.attempt import WORKER
from marie_celery.local.conductor import Conductor
from marie_celery.local.jobs import Job
from marie_celery.model.ranges import pack
from marie_celery.model.states import RunState, WorkState
from marie_celery.run import Run, assemble
from marie_celery.store.keys import job_id
from marie_celery.store.records import JobView, RunView
from marie_celery.store.why import Why
from marie_celery.store.why.records import Because, Reason


@dataclass(frozen=True, slots=True)
class LocalJob(JobView):
    result: Any = None
    """What JSON has carried; None if the job did not complete."""


class LocalRun(Run):
    def __init__(self, conductor: Conductor) -> None:
        self.id = conductor.run_id
        self._engine = conductor.engine
        self._new = conductor.new
        self._tasks = conductor.tasks
        self._created_ms = conductor.created_ms
        self._ended_ms = conductor.now_ms()

    @property
    def state(self) -> RunState:
        return self._engine.state

    def status(self) -> RunView:
        fields = self._new.fields
        return RunView(
            run_id=self.id,
            state=self.state,
            dag=fields["dag"],
            priority=int(fields["priority"]),
            jobs=len(self._engine.jobs),
            counts=dict(self._engine.counts()),
            created_ms=self._created_ms,
            started_ms=self._created_ms,
            ended_ms=self._ended_ms,
            soft_ms=self._engine.soft_ms,
            hard_ms=self._engine.hard_ms,
            key=self._new.key,
            reason=self._engine.reason,
            output=fields["output"],
            labels=json.loads(fields.get("labels", "{}")),
        )

    def jobs(self) -> Iterator[LocalJob]:
        return (self._view(job) for job in self._engine.jobs)

    def job(self, name: str) -> LocalJob:
        for job in self._engine.jobs:
            if job.name == name:
                return self._view(job)
        raise UnknownJob(name)

    def order(self) -> list[str]:
        """Names of the jobs as they were begun; one that was tried again stands there again."""
        return [self._engine.jobs[number].name for number in self._engine.order]

    def wait(self, timeout: float | None = None) -> RunState:
        return self.state

    async def wait_async(self, timeout: float | None = None) -> RunState:
        return self.state

    def _result(self, state: RunState) -> Any:
        if state is not RunState.COMPLETED:
            raise RunFailed(self.id, state, self._errors())
        jobs = self._engine.jobs
        results = {job.number: job.result for job in jobs}
        returns = self._new.returns()
        return assemble(json.loads(returns.output), results, returns, self._tasks)

    def _errors(self) -> dict[str, str]:
        failed = (job for job in self._engine.jobs if job.state is WorkState.FAILED and job.error)
        return {job.name: f"{job.error['type']}: {job.error['message']}" for job in failed if job.error}

    def why(self, name: str | None = None) -> Why:
        id, state = (self.id, str(self.state)) if name is None else (self.job(name).job_id, str(self.job(name).state))
        return Why(id, state, (Reason(Because.ENDED, f"it has ended as {state}", "run it again"),), name or "")

    def cancel(self, why: str = "cancelled", by: str = "") -> bool:
        return False

    def _view(self, job: Job) -> LocalJob:
        return LocalJob(
            job_id=job_id(self.id, job.number),
            state=job.state,
            task=job.task,
            name=job.name,
            executor=job.executor,
            level=job.level,
            attempt=job.attempt,
            reason=job.reason,
            worker=WORKER if job.attempt else "",
            changed_ms=None,
            children=pack(job.children),
            control=job.control or "",
            error=job.error,
            result=None if job.result is None else json.loads(job.result),
        )

    def __repr__(self) -> str:
        return f"<marie local run {self.id}: {self.state}>"

"""From what could run to what is sent: the planner's order, the share of new runs, the free slots."""

from __future__ import annotations

from collections.abc import Iterator

from marie_celery.planning.job import FlatJob
from marie_celery.planning.planner import ExecutionPlanner
from marie_celery.planning.share import interleave
from marie_celery.store.keys import run_of
from marie_celery.store.records import Candidate, Outlook, Room


def choose(planner: ExecutionPlanner, outlook: Outlook, share: int, burst_ms: int) -> list[Candidate]:
    """The jobs to send now, in order, no more for an executor than it has free slots."""
    candidates = {job.job_id: job for room in outlook.rooms for job in room.candidates}
    jobs = [flat_job(candidate) for candidate in candidates.values()]
    begun = {job.run_id: job.run_activated_ms for job in jobs if job.run_activated_ms is not None}
    order = planner.plan(
        jobs,
        {room.executor: room.free for room in outlook.rooms},
        begun.keys(),
        {run for run, since in begun.items() if outlook.now_ms < since + burst_ms},
        exclude_blocked=True,
        now_ms=outlook.now_ms,
    )
    planned = [candidates[job.job_id] for job in order]
    turns = {
        room.executor: _of_executor(room, planned, share if planner.prefers_active_dags else None)
        for room in outlook.rooms
    }
    # The plan says which executor is next, the executor's own row says with what.
    chosen = (next(turns[job.executor], None) for job in planned)
    return [job for job in chosen if job is not None]


def _of_executor(room: Room, planned: list[Candidate], share: int | None) -> Iterator[Candidate]:
    own = [job for job in planned if job.executor == room.executor]
    row: Iterator[Candidate] = iter(own)
    if share is not None:
        active = [job for job in own if job.activated_ms is not None]
        new = [job for job in own if job.activated_ms is None]
        row = interleave(active, new, share, room.credit)
    for _, job in zip(range(room.free), row, strict=False):
        yield job


def flat_job(job: Candidate) -> FlatJob:
    return FlatJob(
        job_id=job.job_id,
        run_id=run_of(job.job_id),
        task=job.task,
        executor=job.executor,
        level=job.level,
        priority=job.priority,
        soft_sla_ms=job.soft_ms,
        hard_sla_ms=job.hard_ms,
        submitted_ms=job.submitted_ms,
        ready_ms=job.ready_ms,
        estimated_runtime=None if job.estimate_ms is None else job.estimate_ms / 1000,
        remaining_path=None if job.path_ms is None else job.path_ms / 1000,
        run_activated_ms=job.activated_ms,
    )

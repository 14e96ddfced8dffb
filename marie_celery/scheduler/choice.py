"""From what could run to what is sent: the planner's order, the share of new runs, the free slots."""

from __future__ import annotations

from collections.abc import Iterator

from marie_celery.planning.job import FlatJob
from marie_celery.planning.planner import ExecutionPlanner
from marie_celery.planning.share import interleave
from marie_celery.planning.tenants import Lane, take_turns
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
    rooms: dict[str, list[Room]] = {}
    for room in outlook.rooms:
        rooms.setdefault(room.executor, []).append(room)
    turns = {
        executor: _of_executor(own, planned, share if planner.prefers_active_dags else None)
        for executor, own in rooms.items()
    }
    # The plan says which executor is next, the executor's own row says with what.
    chosen = (next(turns[job.executor], None) for job in planned)
    return [job for job in chosen if job is not None]


def _of_executor(rooms: list[Room], planned: list[Candidate], share: int | None) -> Iterator[Candidate]:
    """Where tenants share it, each has a row of its own and they take turns."""
    rows = [_row(room, planned, share) for room in rooms]
    if len(rooms) > 1:
        lanes = [Lane(room.tenant, room.virtual_ms, room.weight, row) for room, row in zip(rooms, rows, strict=True)]
        rows = [take_turns(lanes, lambda job: job.estimate_ms)]
    for _, job in zip(range(rooms[0].free), rows[0], strict=False):
        yield job


def _row(room: Room, planned: list[Candidate], share: int | None) -> Iterator[Candidate]:
    mine = {job.job_id for job in room.candidates}
    own = [job for job in planned if job.job_id in mine]
    if share is None:
        return iter(own)
    active = [job for job in own if job.activated_ms is not None]
    new = [job for job in own if job.activated_ms is None]
    return interleave(active, new, share, room.credit)


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

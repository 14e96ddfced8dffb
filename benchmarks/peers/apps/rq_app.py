"""RQ: `depends_on`, and the values of what a job depends on are read by the job itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import work
from redis import Redis
from rq import Queue, get_current_job
from rq.job import Dependency, Job

PATIENCE_SECONDS = 120


def step(x: int | None, i: int) -> int:
    if x is None:
        (x,) = values_before()
    return work.step(x, i)


def join() -> int:
    return work.join(values_before())


def values_before() -> list[int]:
    job = get_current_job()
    assert job is not None
    return [before.return_value() for before in job.fetch_dependencies()]


class Client:
    def __init__(self) -> None:
        # The client's own limit of 5 s for an answer would end a blocking wait for a result.
        self.queue = Queue(connection=Redis.from_url(os.environ["REDIS_URL"], socket_timeout=None))

    def steps(self, x: int | None, width: int, after: Job | None = None) -> list[Job]:
        """One pipeline for all. It is tried again when a dependency ends meanwhile, and then tells of jobs twice."""
        jobs = self.queue.enqueue_many(
            [Queue.prepare_data(step, (x, number), depends_on=after, job_id=uuid4().hex) for number in range(width)]
        )
        return list({job.id: job for job in jobs}.values())

    def joined(self, parts: list[Job]) -> Job:
        return self.queue.enqueue(join, depends_on=Dependency(parts))

    def flood(self, count: int) -> list[int]:
        return [result_of(job) for job in self.steps(0, count)]

    def chain(self, length: int) -> int:
        last = self.queue.enqueue(step, 0, 0)
        for _ in range(length - 1):
            last = self.queue.enqueue(step, None, 0, depends_on=last)
        return result_of(last)

    def chord(self, width: int) -> int:
        return result_of(self.joined(self.steps(0, width)))

    def layered(self, layers: int, width: int) -> int:
        last = self.joined(self.steps(0, width))
        for _ in range(layers - 1):
            last = self.joined(self.steps(None, width, after=last))
        return result_of(last)


def result_of(job: Job) -> int:
    """Blocks on the stream of results, without polling."""
    result = job.latest_result(timeout=PATIENCE_SECONDS)
    assert result is not None, f"{job.id} has no result after {PATIENCE_SECONDS} s"
    return int(result.return_value)


def workloads() -> dict[str, Callable[..., Any]]:
    client = Client()
    return {"flood": client.flood, "chain": client.chain, "chord": client.chord, "layered": client.layered}

"""The two ways from a plan to the workers. Both book first and never send what was not booked."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

from celery import Celery

from marie_celery.config import Settings
from marie_celery.store.codes import Code
from marie_celery.store.keys import attempt_id, run_of
from marie_celery.store.records import Candidate, Claim, Message
from marie_celery.store.store import Store
from marie_celery.transport.rendering import Renderer

log = logging.getLogger(__name__)


class Transport(Protocol):
    name: str

    def send(self, jobs: Sequence[Candidate]) -> list[Claim]:
        """Book and hand over, in this order. One answer per job."""
        ...

    def close(self) -> None: ...


class AtomicTransport:
    """Booking and message are one step of one script: nothing can be lost or doubled in between."""

    name = "atomic"

    def __init__(self, store: Store, renderer: Renderer) -> None:
        self._store = store
        self._renderer = renderer
        self._rendered: dict[tuple[str, str, float | None, float | None], Message] = {}

    def send(self, jobs: Sequence[Candidate]) -> list[Claim]:
        messages: list[Message] = []
        numbers: dict[Message, int] = {}
        order = []
        for job in jobs:
            message = self._message(job)
            if message not in numbers:
                messages.append(message)
                numbers[message] = len(messages)
            order.append((job.job_id, numbers[message]))
        return self._store.dispatch(messages, order)

    def _message(self, job: Candidate) -> Message:
        kind = (job.task, job.executor, job.time_limit, job.soft_time_limit)
        if kind not in self._rendered:
            queue = self._store.settings.queue_of(job.executor)
            self._rendered[kind] = self._renderer.render(job.task, queue, kind[2:])
        return self._rendered[kind]

    def close(self) -> None:
        self._renderer.close()


class PublishTransport:
    """Any broker: publish after the claim. If this process dies in between, the lease ends and it is sent again."""

    name = "publish"

    def __init__(self, store: Store, app: Celery) -> None:
        self._store = store
        self._app = app

    def send(self, jobs: Sequence[Candidate]) -> list[Claim]:
        claims = self._store.dispatch([], [(job.job_id, 0) for job in jobs])
        for job, claim in zip(jobs, claims, strict=True):
            if claim.code == Code.OK:
                self._publish(job, claim.token, self._store.settings)
        return claims

    def _publish(self, job: Candidate, token: int, settings: Settings) -> None:
        self._app.send_task(
            job.task,
            task_id=attempt_id(job.job_id, token),
            root_id=run_of(job.job_id),
            queue=settings.queue_of(job.executor),
            ignore_result=True,
            argsrepr="(…)",
            kwargsrepr="{…}",
            time_limit=job.time_limit,
            soft_time_limit=job.soft_time_limit,
        )

    def close(self) -> None:
        return None


def choose_transport(app: Celery, store: Store) -> Transport:
    """Atomic if the broker is the Redis that holds the state, else publish. What was rendered before, maybe for another
    broker or with other settings, is not sent any more."""
    store.forget_messages()
    with app.connection_for_write() as connection:
        if connection.transport.driver_type != "redis":
            return PublishTransport(store, app)
    renderer = Renderer(app)
    database = int(store.client.connection_pool.connection_kwargs.get("db") or 0)
    if renderer.shares(str(store.client.info("server")["run_id"]), database):
        return AtomicTransport(store, renderer)
    renderer.close()
    return PublishTransport(store, app)

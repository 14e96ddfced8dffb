"""Renders task messages with Celery's and kombu's own code, stopping just before they would be sent.

What differs from job to job is rendered as marks (`"@attempt@"` …) that the dispatch script fills in, so one
message is rendered per kind of job, not per job.
"""

from __future__ import annotations

from typing import Any

from celery import Celery
from kombu.messaging import Producer
from kombu.utils.json import dumps

from marie_celery.store.records import Message

ATTEMPT = "@attempt@"
RUN = "@run@"
ARGS = "@args@"
KWARGS = "@kwargs@"


class Renderer:
    """Owns a channel of its own whose last step is replaced: it keeps the message instead of pushing it."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._connection = app.connection_for_write()
        self._channel = self._connection.channel()
        self._kept: list[tuple[str, dict[str, Any]]] = []
        self._channel._put = lambda queue, message, **_: self._kept.append((queue, message))

    def render(self, task: str, queue: str, limits: tuple[float | None, float | None]) -> Message:
        time_limit, soft_time_limit = limits
        self._kept.clear()
        self._app.send_task(
            task,
            args=(),
            kwargs={},
            task_id=ATTEMPT,
            root_id=RUN,
            queue=queue,
            producer=Producer(self._channel, auto_declare=False),
            ignore_result=True,
            argsrepr=ARGS,
            kwargsrepr=KWARGS,
            time_limit=time_limit,
            soft_time_limit=soft_time_limit,
        )
        ((name, message),) = self._kept
        message["properties"]["delivery_tag"] = ATTEMPT
        channel = self._channel
        key = channel._q_for_pri(name, channel._get_message_priority(message, reverse=False))
        return Message(queue_key=f"{channel.global_keyprefix}{key}", template=dumps(message))

    def shares(self, run_id: str, database: int) -> bool:
        """Is the broker the very server (by its run id) and database that holds the state?"""
        client = self._channel.client
        found = client.connection_pool.connection_kwargs.get("db", 0)
        return client.info("server").get("run_id") == run_id and int(found or 0) == database

    def close(self) -> None:
        self._connection.release()

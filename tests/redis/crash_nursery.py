"""Processes that die by SIGKILL at a command that is chosen before. A small process of its own forks them, quickly and
without the threads of a test run.

    {"url": …, "scene": "work", "command": 3, "when": "before", "arguments": […]} → exit code
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

from redis import Connection, Redis
from redis.connection import ConnectionPool

from marie_celery.config import Settings
from marie_celery.model.retry import FailureKind
from marie_celery.scheduler.expander import expander
from marie_celery.store import expanding, life, steering
from marie_celery.store.keys import split_attempt
from marie_celery.store.records import Message
from marie_celery.store.replaying import instructions, nodes_of, unfinished
from marie_celery.store.store import Store
from marie_celery.transport.transports import PublishTransport
from tests.redis.redis_runs import NOW, WORKER, dag
from tests.stateful.harness import with_budget

QUEUE = "queue"
MESSAGE = Message(QUEUE, '"@attempt@"')
WIDE = {"a": [], "b": ["a"], "c": ["a"], "d": ["a"], "e": ["b", "c", "d"]}
SLOTS = {"ocr": 10}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Doomed(Connection):
    """Dies before its n-th command is sent, or when the server has carried it out and the answer is there."""

    at = 0
    when = ""
    sent = 0

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        Doomed.sent += 1
        if Doomed.sent == Doomed.at and Doomed.when == "before":
            die()
        super().send_packed_command(command, check_health=check_health)

    def read_response(self, *args: Any, **options: Any) -> Any:
        try:
            return super().read_response(*args, **options)
        finally:
            if Doomed.sent == Doomed.at and Doomed.when == "after":
                die()


class Post:
    """Any broker: a message is one command of its own."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def send_task(self, name: str, *, task_id: str, **_: Any) -> None:
        self._client.lpush(QUEUE, json.dumps(task_id))


def dispatch(store: Store, _: str) -> None:
    """The broker is the same Redis: one step."""
    store.dispatch([MESSAGE], [(job.job_id, 1) for room in store.peek(2, 10).rooms for job in room.candidates])


def publish(store: Store, _: str) -> None:
    transport = PublishTransport(store, Post(store.client))  # type: ignore[arg-type]
    transport.send([job for room in store.peek(2, 10).rooms for job in room.candidates])


def work(store: Store, *attempts: str) -> None:
    for attempt in attempts:
        job, token = split_attempt(attempt)
        store.start(job, token, WORKER, attempt)
        store.renew(WORKER, {}, SLOTS, [attempt])
        store.finish(job, token, WORKER, "1")


def fail(store: Store, *attempts: str) -> None:
    for attempt in attempts:
        job, token = split_attempt(attempt)
        store.start(job, token, WORKER, attempt)
        store.fail(job, token, WORKER, FailureKind.FAILURE, {"type": "E", "message": "m"})


def submit(store: Store) -> None:
    life.CHUNK = 2
    store.submit(dag(WIDE))


def replay(store: Store, run: str) -> None:
    steering.REPLAY_CHUNK = 2
    nodes = nodes_of(store, run)
    store.replay(run, instructions(nodes, unfinished(nodes)), 0)


def recover(store: Store, _: str) -> None:
    store.now_ms = NOW + 61_000
    store.reap()
    while store.advance():
        store.promote()


def cancel(store: Store, run: str) -> None:
    store.cancel_run(run)
    while store.advance():
        pass


def expand(store: Store, _: str) -> None:
    """Makes the items of a map, two in a call."""
    expanding.EXPAND_CHUNK = 2
    expander(store).turn()


SCENES: dict[str, Callable[..., None]] = {
    scene.__name__: scene for scene in (dispatch, publish, work, fail, submit, replay, recover, cancel, expand)
}


def live(order: dict[str, Any]) -> None:
    pool = ConnectionPool.from_url(order["url"], connection_class=Doomed, decode_responses=True)
    store = with_budget(Redis(connection_pool=pool), Settings(), 2)
    store.now_ms = NOW
    for script in store._scripts.values():
        store.client.script_load(script.script)
    Doomed.sent, Doomed.at, Doomed.when = 0, order["command"], order["when"]
    SCENES[order["scene"]](store, *order["arguments"])


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            sys.excepthook = _tell_and_leave
            live(json.loads(line))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _tell_and_leave(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    sys.__excepthook__(kind, error, trace)
    sys.stderr.flush()
    os._exit(1)


if __name__ == "__main__":
    main()

"""A Celery app that tells what its workers see of each job: signals and handlers, as lists in Redis."""

from __future__ import annotations

import os
import signal
import time
import traceback
from pathlib import Path
from typing import Any

import redis
from celery import Celery, signals

from marie_celery import Marie, current_job, dag, task

URL = os.environ.get("CELERY_BROKER_URL", "redis://localhost:1/0")
app = Celery("relay", broker=URL)
app.conf.update(accept_content=["json"], broker_connection_retry_on_startup=True, worker_hijack_root_logger=False)
marie = Marie(app)


def tell(what: str, about: object) -> None:
    with redis.Redis.from_url(URL) as client:
        client.rpush(f"seen:{what}", str(about))


def on_prerun(task_id: str = "", **_: Any) -> None:
    tell("prerun", task_id)


def on_postrun(task_id: str = "", state: str = "", **_: Any) -> None:
    tell("postrun", f"{task_id} {state}")


def on_success(sender: Any = None, **_: Any) -> None:
    tell("success", sender.request.id)


@signals.task_failure.connect
def on_failure(task_id: str = "", exception: object = None, **_: Any) -> None:
    tell("failure", f"{task_id} {exception}")


if "RELAY_UNWATCHED" not in os.environ:
    signals.task_prerun.connect(on_prerun)
    signals.task_postrun.connect(on_postrun)
    signals.task_success.connect(on_success)


@task(executor="line")
def step(after: object = None) -> int:
    assert step.celery_task.request.id == f"{current_job().job_id}.{current_job().token}"
    return os.getpid()


@task(executor="line")
def is_traced(after: object = None) -> bool:
    """Does Celery's trace look after this call?"""
    assert step.celery_task.app.current_worker_task is is_traced.celery_task
    return any(frame.name == "trace_task" for frame in traceback.extract_stack())


@task(executor="line", retry_limit=0)
def fail(after: object = None) -> int:
    raise ValueError("on purpose")


@task(executor="line", relay=False)
def alone(after: object = None) -> int:
    return os.getpid()


@task(executor="line", crash_limit=3)
def die_once(marker: str, after: object = None) -> str:
    path = Path(marker)
    if not path.exists():
        path.write_text(current_job().job_id)
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


@task(executor="line")
def run_until(marker: str, after: object = None) -> str:
    path = Path(marker)
    path.write_text(f"{current_job().job_id}.{current_job().token}")
    while path.exists():
        time.sleep(0.02)
    return "ended"


@dag(name="relay.chain")
def chain(length: int) -> list[int]:
    steps: list[Any] = [step()]
    for _ in range(length - 1):
        steps.append(step(steps[-1]))
    return steps


@dag(name="relay.traced")
def traced() -> list[bool]:
    first = is_traced()
    return [first, is_traced(first)]


@dag(name="relay.failing")
def failing() -> object:
    return fail(step(step()))


@dag(name="relay.lonely")
def lonely() -> list[int]:
    first = step()
    return [first, alone(first)]


@dag(name="relay.dying")
def dying(marker: str) -> list[object]:
    first = step()
    last = die_once(marker, step(first))
    return [first, last, step(last)]


@dag(name="relay.stoppable")
def stoppable(marker: str) -> object:
    return step(run_until(marker, step()))

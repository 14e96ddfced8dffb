"""A Celery app with a result backend, for canvases: tasks of Celery and of ours, side by side."""

from __future__ import annotations

import os
from datetime import datetime
from functools import partial
from typing import Any

from celery import Celery

from marie_celery import Marie, task

url = os.environ.get("CELERY_BROKER_URL", "redis://localhost:1/0")
app = Celery("canvas", broker=url, backend=url)
app.conf.update(
    accept_content=["json"],
    broker_connection_retry_on_startup=True,
    worker_hijack_root_logger=False,
    task_routes={"canvas_app.routed": "side"},
)
marie = Marie(app)

# Of this app alone: other tests of this process have apps of their own.
plain = partial(app.task, shared=False)


@plain()
def add(x: int, y: int) -> int:
    return x + y


@plain()
def mul(x: int, y: int) -> int:
    return x * y


@plain()
def xsum(numbers: list[Any]) -> Any:
    return sum(xsum.run(number) if isinstance(number, list) else number for number in numbers)


@plain()
def same(*args: Any, **kwargs: Any) -> list[Any]:
    return [list(args), kwargs]


@plain()
def annotated(when: datetime, how: NowhereDefined) -> int:  # type: ignore[name-defined]  # noqa: F821
    return len(str(when)) + how


@plain(rate_limit="1/m")
def rarely() -> int:
    return 1


@plain()
def claims(x: int) -> str:
    """What it returns is not what it says."""
    return x  # type: ignore[return-value]


@plain()
def routed() -> str:
    return "routed"


@plain()
def broken(*args: Any) -> int:
    raise ValueError("no luck")


@plain(bind=True, max_retries=3)
def third_time(self: Any, x: int = 0) -> list[int]:
    if self.request.retries < 2:
        raise self.retry(countdown=0.01)
    return [x, self.request.retries]


@plain(autoretry_for=(KeyError,), retry_backoff=False, default_retry_delay=0.01, max_retries=1)
def never() -> int:
    raise KeyError("never")


@plain()
def on_error(request: Any, exc: Exception, traceback: str) -> list[str]:
    marie.store.client.rpush("told", f"{request.task} {type(exc).__name__} {exc}")
    return [request.task, repr(exc), traceback.splitlines()[-1]]


@plain()
def on_error_by_id(task_id: str) -> str:
    marie.store.client.rpush("told", task_id)
    return task_id


@plain()
def note(text: str) -> str:
    marie.store.client.rpush("told", str(text))
    return text


@task(executor="ours")
def plus(x: int, y: int = 1) -> int:
    return x + y


@task(executor="ours")
def total(numbers: list[int]) -> int:
    return sum(numbers)

"""How a worker takes a message of ours: as Celery does, but the process that gets it may go on with other jobs.

Celery builds the way of a message through a worker once per task, from a consumer and its pool. It gets both with two
differences: where the pool is told to trace a task, it is told to run a relay that begins with it; and an idle process
is given it at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from celery.worker.strategy import default

from marie_celery.worker.handover import hand_over
from marie_celery.worker.relay import TRACES, WISH
from marie_celery.worker.task import is_attempt


def relaying(task: Any, app: Any, consumer: Any, **options: Any) -> Any:
    from marie_celery.extension import Marie

    seconds = Marie.of(app).settings.relay_seconds if _may_relay(consumer) else 0
    return default(task, app, _Consumer(consumer, seconds), **options)


def _may_relay(consumer: Any) -> bool:
    """Not where a process counts its tasks or a clock runs for each: they mean jobs, and the parent sees messages."""
    limits = ("max_tasks_per_child", "time_limit", "soft_time_limit")
    return not any(getattr(consumer.controller, name, None) for name in limits)


class _Consumer:
    def __init__(self, consumer: Any, seconds: float) -> None:
        self._consumer = consumer
        self.pool = _Pool(consumer, seconds)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)


class _Pool:
    def __init__(self, consumer: Any, seconds: float) -> None:
        self._consumer = consumer
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer.pool, name)

    def apply_async(self, target: Callable[..., Any], args: tuple[Any, ...], **options: Any) -> Any:
        _, task_id, request, *_ = args
        if not is_attempt(task_id):
            return self._consumer.pool.apply_async(target, args=args, **options)
        has_limit = options.get("timeout") or options.get("soft_timeout")
        if self._seconds > 0 and target in TRACES and not has_limit:
            hostname = self._consumer.hostname
            request[WISH] = {"seconds": self._seconds, "hostname": hostname, "events": self._sends_events()}
            target = TRACES[target]
        result = self._consumer.pool.apply_async(target, args=args, **options)
        hand_over(self._consumer)
        return result

    def _sends_events(self) -> bool:
        eventer = self._consumer.event_dispatcher
        return bool(eventer and eventer.enabled and (not eventer.groups or "task" in eventer.groups))

"""Control jobs: nodes without work. They need no worker and no slot, and are done the moment their parents let them."""

from __future__ import annotations

from typing import Any

from marie_celery.authoring.builder import current_builder
from marie_celery.authoring.options import JobOptions
from marie_celery.authoring.reference import Ref
from marie_celery.authoring.task import Task
from marie_celery.errors import ConfigError
from marie_celery.model.joins import JoinRule


def _nothing(*parents: Any) -> None:
    """What a merge does."""


MERGE = Task(
    _nothing,
    name="marie.merge",
    options=JobOptions(executor="control"),
    retry_on=(),
    give_up_on=(),
    celery_options={},
)


def is_control(task: Task[..., Any]) -> bool:
    return task is MERGE


def merge(*references: Any, name: str | None = None, join: JoinRule | str = JoinRule.ALL_SUCCESS) -> Ref:
    """A node that only waits for others: `publish(report).after(merge(*pages))`. Its result is None."""
    builder = current_builder()
    if builder is None:
        raise ConfigError("merge() joins nodes of a dag: call it inside a @dag function")
    ref = builder.add(MERGE, (), {}, JobOptions(executor="control", name=name or None, join=join))
    return ref.after(*references)

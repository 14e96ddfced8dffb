"""What `.set(…)` says of a signature: what of it is ours, what Celery's router reads, what means nothing here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from celery import Celery
from celery.exceptions import QueueNotFound
from celery.utils.functional import maybe_list

from marie_celery.authoring.options import JobOptions, RunOptions
from marie_celery.config import Settings
from marie_celery.errors import ConfigError

_JOB = frozenset(JobOptions.__dataclass_fields__)
_RUN = frozenset(RunOptions.__dataclass_fields__)
_ROUTE = frozenset({"queue", "exchange", "routing_key"})
_CALLBACKS = frozenset({"link", "link_error"})

# Ids are ours, results stay in our Redis, and how a message looks changes nothing.
_WITHOUT_MEANING = frozenset(
    [
        *("task_id", "group_id", "group_index", "root_id", "parent_id", "chord", "chain", "reply_to"),
        *("replaced_task_nesting", "add_to_parent", "ignore_result", "result_cls", "interval", "max_retries"),
        *("serializer", "compression", "delivery_mode", "argsrepr", "kwargsrepr", "shadow", "headers"),
        *("stamped_headers", "retry", "retry_policy", "mandatory"),
    ]
)

_LATER = frozenset({"countdown", "eta"})


@dataclass(frozen=True, slots=True)
class Options:
    job: Mapping[str, Any] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)
    """What only a run can have."""
    route: Mapping[str, Any] = field(default_factory=dict)
    link: tuple[Any, ...] = ()
    link_error: tuple[Any, ...] = ()
    problems: tuple[str, ...] = ()

    def over(self, inner: Options) -> Options:
        """Those of a canvas, for a member that may say otherwise."""
        return Options(job={**self.job, **inner.job}, route={**self.route, **inner.route})

    def split(self) -> tuple[dict[str, Any], Options]:
        """What is said of the run, if this is its whole canvas, and what is left for its jobs."""
        of_run = {**self.run, **{name: value for name, value in self.job.items() if name in _RUN}}
        return of_run, replace(self, run={}, job={name: self.job[name] for name in self.job if name not in _RUN})


def read_options(options: Mapping[str, Any]) -> Options:
    given = {name: value for name, value in options.items() if value is not None}
    silent = _WITHOUT_MEANING | set(given.get("stamped_headers", ()))
    return Options(
        job={name: value for name, value in given.items() if name in _JOB},
        run={name: value for name, value in given.items() if name in _RUN - _JOB},
        route={name: value for name, value in given.items() if name in _ROUTE},
        link=tuple(maybe_list(given.get("link")) or ()),
        link_error=tuple(maybe_list(given.get("link_error")) or ()),
        problems=tuple(_problem(name) for name in sorted(set(given) - silent - _JOB - _RUN - _ROUTE - _CALLBACKS)),
    )


def _problem(name: str) -> str:
    if name in _LATER:
        return f"'{name}' cannot be kept: jobs start when a slot is free; a schedule starts runs later"
    if name == "expires":
        return 'write hard_sla=… and on_hard_sla="expire" in place of expires'
    return f"the option '{name}' means nothing here; take it away"


def executor_of(app: Celery, settings: Settings, task: str, route: Mapping[str, Any]) -> str:
    """The executor whose queue Celery's router chooses for a task."""
    try:
        found = app.amqp.router.route(dict(route), task)
    except QueueNotFound as error:
        raise ConfigError(f"{task}: {error}") from None
    queue = found.get("queue")
    if queue is None:
        raise ConfigError(f"{task} is routed to an exchange; name a queue for it in task_routes")
    name = str(getattr(queue, "name", queue))
    return next((executor for executor in sorted(settings.executors) if settings.queue_of(executor) == name), name)

"""What is stored of a job beside its edges: options, policies, limits, SLAs. Problems are collected, not raised."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from pydantic import ValidationError

from marie_celery.authoring.control_fields import control_fields
from marie_celery.authoring.needs import NeedsOfJobs
from marie_celery.authoring.nodes import MapNode, Node
from marie_celery.authoring.options import JobOptions, RunOptions
from marie_celery.errors import ConfigError, PayloadError
from marie_celery.model.joins import JoinRule
from marie_celery.model.priority import parse_priority
from marie_celery.model.retry import RetryPolicy
from marie_celery.model.sla import OnHardSla, Sla
from marie_celery.planning.job import whole_ms

if TYPE_CHECKING:
    from marie_celery.authoring.compile import Surroundings

_POLICY = tuple(RetryPolicy.model_fields)


class JobFields:
    def __init__(self, around: Surroundings, run: Mapping[str, str], problems: list[str]) -> None:
        self._around = around
        self._settings = around.settings
        self._run = run
        self.needs = NeedsOfJobs(around.resources)
        self._problems = problems
        self.specs: dict[str, str] = {}
        """Policy → its number."""
        self.executors: set[str] = set()
        """Where there is work to do."""
        self._spec_by_options: dict[int, str] = {}
        self._fields_of_calls: dict[tuple[int, str], dict[str, str]] = {}

    def of(self, node: Node) -> dict[str, str]:
        """A copy of its own. Calls of one task with the same options share the object, and differ by name alone."""
        call = (id(node.options), node.task.name)
        known = self._fields_of_calls.get(call)
        if known is not None and node.control is None:
            return {**known, "name": node.name}
        problems = len(self._problems)
        fields = self._of(node)
        if node.control is None and node.options.concurrency_key is None and len(self._problems) == problems:
            self._fields_of_calls[call] = fields.copy()
        return fields

    def _of(self, node: Node) -> dict[str, str]:
        options = node.options
        executor = options.executor or ""
        fields = {
            "task": node.task.name,
            "name": node.name,
            "executor": executor,
            "priority": self._priority(node),
            "spec": self._spec(node, executor),
        }
        if node.control is None or (isinstance(node, MapNode) and node.inner is None):
            self.executors.add(executor)
            self._check_work(node, executor)
            fields.update(self._shares(node, executor))
        if options.join != JoinRule.ALL_SUCCESS:
            self._join(fields, node)
        if options.relay is False:
            fields["relay"] = "0"
        self._check_seconds(node)
        if is_seconds(options.estimated_runtime):
            fields["estimate"] = str(whole_ms(options.estimated_runtime))
        fields.update(self._limits(options, executor))
        if node.control is not None:
            fields.update(control_fields(node, self._settings, self._problems))
        own = sla_fields(options, self._around.now_ms, f"{node.name}: ", self._problems)
        return {**fields, **own, "sla": "1"} if own else fields

    def _check_work(self, node: Node, executor: str) -> None:
        tasks, executors = self._around.tasks, self._around.executors
        if tasks is not None and node.task.name not in tasks:
            self._problems.append(f"{node.name}: the app has no task '{node.task.name}': no worker could run it")
        if executor not in executors:
            known = ", ".join(sorted(executors))
            self._problems.append(f"{node.name}: executor '{executor}' is unknown; there are {known}")

    def _shares(self, node: Node, executor: str) -> dict[str, str]:
        """Whose it is, and what it takes of the resources."""
        fields = {"tenant": self._run["tenant"]} if "tenant" in self._run else {}
        try:
            if needs := self.needs.of(node, executor):
                fields["needs"] = needs
        except (ConfigError, PayloadError) as error:
            self._problems.append(f"{node.name}: {error}")
        return fields

    def _priority(self, node: Node) -> str:
        if node.options.priority is not None:
            try:
                return str(parse_priority(node.options.priority))
            except ConfigError as error:
                self._problems.append(f"{node.name}: {error}")
        return self._run["priority"]

    def _check_seconds(self, node: Node) -> None:
        for name in ("estimated_runtime", "time_limit", "soft_time_limit"):
            value = getattr(node.options, name)
            if value is not None and not is_seconds(value):
                self._problems.append(f"{node.name}: {name} must be seconds above 0, not {value!r}")

    def _join(self, fields: dict[str, str], node: Node) -> None:
        try:
            fields["rule"] = JoinRule(node.options.join).value
        except ValueError:
            known = ", ".join(JoinRule)
            given = node.options.join
            self._problems.append(f"{node.name}: join rule '{given}' is unknown; there are {known}")

    def _spec(self, node: Node, executor: str) -> str:
        """Jobs with the same policy share one copy of it; calls with the same options share the object."""
        known = self._spec_by_options.get(id(node.options))
        if known is not None:
            return known
        given = {name: getattr(node.options, name) for name in _POLICY}
        try:
            text = self._settings.retry_policy(executor, given).model_dump_json()
        except ValidationError as error:
            for item in error.errors():
                self._problems.append(f"{node.name}: {'.'.join(map(str, item['loc']))}: {item['msg']}")
            return ""
        number = self.specs.setdefault(text, str(len(self.specs)))
        self._spec_by_options[id(node.options)] = number
        return number

    def _limits(self, options: JobOptions, executor: str) -> dict[str, str]:
        defaults = self._settings.executors.get(executor)
        fields = {}
        for name in ("time_limit", "soft_time_limit"):
            limit = getattr(options, name) or (getattr(defaults, name) if defaults else None)
            if limit is not None:
                fields[name] = str(limit)
        return fields


def sla_fields(options: RunOptions | JobOptions, now_ms: int, where: str, problems: list[str]) -> dict[str, str]:
    fields = {}
    if options.on_hard_sla is not None:
        try:
            fields["on_hard"] = OnHardSla(options.on_hard_sla).value
        except ValueError:
            known = ", ".join(OnHardSla)
            problems.append(f"{where}on_hard_sla='{options.on_hard_sla}' is unknown; there are {known}")
    if options.soft_sla is None and options.hard_sla is None:
        return fields
    try:
        sla = Sla.parse(options.soft_sla, options.hard_sla)
        sla.at(now_ms)
    except ConfigError as error:
        problems.append(f"{where}{error}")
        return fields
    for name, end in (("soft", sla.soft), ("hard", sla.hard)):
        if end is not None:
            fields[f"{name}_in" if end.relative else name] = str(end.ms)
    return fields


def is_seconds(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf

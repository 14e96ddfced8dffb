"""From a built DAG to a submission: everything is checked here, and all problems are reported at once."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from pydantic import ValidationError

from marie_celery.authoring.builder import Builder, Node
from marie_celery.authoring.control import is_control
from marie_celery.authoring.needs import NeedsOfJobs
from marie_celery.authoring.options import Duplicates, JobOptions, RunOptions
from marie_celery.authoring.payload import ArgumentEncoder, describe, encode_value
from marie_celery.authoring.reference import Ref
from marie_celery.authoring.type_check import type_problems
from marie_celery.config import Settings
from marie_celery.errors import ConfigError, DagError, MarieError, PayloadError
from marie_celery.model import ranges
from marie_celery.model.graph import Layout, find_cycle, lay_out
from marie_celery.model.joins import JoinRule
from marie_celery.model.priority import parse_priority
from marie_celery.model.retry import RetryPolicy
from marie_celery.model.sla import OnHardSla, Sla
from marie_celery.planning.critical_path import remaining_paths
from marie_celery.planning.estimates import RuntimeEstimate
from marie_celery.planning.job import whole_ms
from marie_celery.planning.tenants import TENANT_NAME
from marie_celery.resources import ResourceSettings
from marie_celery.store.keys import MAX_JOBS_PER_RUN
from marie_celery.store.records import NewJob, NewRun

_POLICY = tuple(RetryPolicy.model_fields)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a submission has to know of the cluster: the time of Redis, the executors, what was learned of tasks."""

    settings: Settings
    executors: Collection[str]
    tasks: Collection[str] | None = None
    """Names of the tasks that the app has; None = not known."""
    now_ms: int = 0
    estimates: Mapping[str, RuntimeEstimate] = field(default_factory=dict)
    resources: Mapping[str, ResourceSettings] = field(default_factory=dict)


class Compiler:
    def __init__(self, builder: Builder, options: RunOptions, around: Surroundings) -> None:
        self.builder = builder
        self.options = options
        self.settings = around.settings
        self.executors = around.executors
        self.around = around
        self.problems: list[str] = []
        self._specs: dict[str, str] = {}
        self._spec_by_options: dict[int, str] = {}
        self._needs = NeedsOfJobs(around.resources)

    def compile(self, output: Any) -> NewRun:
        nodes = self.builder.nodes
        if not nodes:
            self.problems.append("it calls no task")
        if len(nodes) > MAX_JOBS_PER_RUN:
            self.problems.append(f"it has {len(nodes)} jobs; a run takes at most {MAX_JOBS_PER_RUN}")
        for name in self.builder.duplicate_names:
            self.problems.append(f"two nodes are called '{name}'")
        run_fields = self._run_fields(output)
        priority = int(run_fields.get("priority", 0))
        inputs, sources, references = [], [], []
        for node in nodes:
            text, refs = self._inputs(node)
            inputs.append(text)
            references.append(refs)
            sources.append(self._parents(node, refs))
        layout = self._layout(sources)
        paths = self._paths(layout)
        jobs = [
            NewJob(
                {**self._job_fields(node, priority, layout, sources[number], references[number]), **paths[number]},
                inputs[number],
            )
            for number, node in enumerate(nodes)
        ]
        if self.problems:
            raise DagError(self.builder.dag, self.problems)
        if name := self._highlander(jobs):
            run_fields["highlander"] = name
        run_fields["roots"] = ranges.pack(number for number, parents in enumerate(sources) if not parents)
        return NewRun(
            fields=run_fields,
            specs={number: text for text, number in self._specs.items()},
            executors=sorted({job.fields["executor"] for job in jobs if "control" not in job.fields}),
            jobs=jobs,
            key=self.options.key or "",
            duplicates=self._duplicates(),
            highlander=run_fields.get("highlander", ""),
        )

    def _highlander(self, jobs: list[NewJob]) -> str:
        """Under which only one run may be under way: the dag says so, or the resource that its only job needs."""
        given = self.options.highlander
        if given:
            return f"dag:{self.builder.dag}" + (f"/{given}" if isinstance(given, str) else "")
        return self._needs.highlander(jobs[0].fields.get("needs")) if len(jobs) == 1 else ""

    def _duplicates(self) -> str:
        return Duplicates(self.options.duplicates).value

    def _run_fields(self, output: Any) -> dict[str, str]:
        fields = {"dag": self.builder.dag, "priority": "0"}
        options = self.options
        try:
            given = options.priority
            fields["priority"] = str(self.settings.default_priority if given is None else parse_priority(given))
        except ConfigError as error:
            self.problems.append(str(error))
        try:
            Duplicates(options.duplicates)
        except ValueError:
            known = ", ".join(Duplicates)
            self.problems.append(f"duplicates='{options.duplicates}' is unknown; there are {known}")
        fields.update(self._sla_fields(options, ""))
        if options.key is not None and not isinstance(options.key, str):
            self.problems.append(f"key must be text, not {options.key!r}")
        elif options.key:
            fields["key"] = options.key
        if options.tenant is not None:
            if isinstance(options.tenant, str) and re.fullmatch(TENANT_NAME, options.tenant):
                fields["tenant"] = options.tenant
            else:
                self.problems.append(f"tenant {options.tenant!r} is no name: letters, digits and _ . : / - are")
        if options.fail_fast:
            fields["fail_fast"] = "1"
        try:
            if options.labels:
                fields["labels"] = json.dumps(encode_value(options.labels, "labels", self._output_reference))
            encoded = encode_value(output, "what the dag returns", self._output_reference)
            fields["output"] = json.dumps(encoded)
        except PayloadError as error:
            self.problems.append(str(error))
        return fields

    def _output_reference(self, ref: Ref) -> Any:
        self._check_own(ref)
        return describe(ref)

    def _check_own(self, ref: Ref) -> None:
        if not self._is_own(ref.node):
            raise PayloadError(f"the reference {ref!r} belongs to another dag")

    def _is_own(self, node: Node) -> bool:
        nodes = self.builder.nodes
        return node.number < len(nodes) and nodes[node.number] is node

    def _sla_fields(self, options: RunOptions | JobOptions, where: str) -> dict[str, str]:
        fields = {}
        if options.on_hard_sla is not None:
            try:
                fields["on_hard"] = OnHardSla(options.on_hard_sla).value
            except ValueError:
                known = ", ".join(OnHardSla)
                self.problems.append(f"{where}on_hard_sla='{options.on_hard_sla}' is unknown; there are {known}")
        if options.soft_sla is None and options.hard_sla is None:
            return fields
        try:
            sla = Sla.parse(options.soft_sla, options.hard_sla)
            sla.at(self.around.now_ms)
        except ConfigError as error:
            self.problems.append(f"{where}{error}")
            return fields
        for name, end in (("soft", sla.soft), ("hard", sla.hard)):
            if end is not None:
                fields[f"{name}_in" if end.relative else name] = str(end.ms)
        return fields

    def _inputs(self, node: Node) -> tuple[str, list[int]]:
        encoder = ArgumentEncoder(node.task.signature_of_function)
        try:
            text = encoder.encode(node.args, node.kwargs)
            for ref in (*encoder.references, *map(Ref, node.after)):
                self._check_own(ref)
            self.problems += type_problems(node)
        except MarieError as error:
            self.problems.append(f"{node.name}: {error}")
            node.after = [other for other in node.after if self._is_own(other)]
            return "", []
        return text, sorted({ref.node.number for ref in encoder.references})

    @staticmethod
    def _parents(node: Node, references: list[int]) -> list[int]:
        if not node.after:
            return references
        return sorted({*references, *(other.number for other in node.after)})

    def _layout(self, sources: list[list[int]]) -> Layout:
        layout = lay_out(sources)
        if not layout.acyclic:
            names = [self.builder.nodes[number].name for number in find_cycle(sources)]
            self.problems.append("it has a cycle: " + " → ".join([*names, names[0]]))
        return layout

    def _paths(self, layout: Layout) -> list[dict[str, str]]:
        """The longest way to the end of the run behind each job, by what is known of runtimes."""
        nodes = self.builder.nodes

        def seconds(number: int) -> float | None:
            given = nodes[number].options.estimated_runtime
            learned = self.around.estimates.get(nodes[number].task.name)
            return given if _is_seconds(given) else learned.seconds if learned else None

        if not layout.acyclic or not any(seconds(number) for number in range(len(nodes))):
            return [{} for _ in nodes]
        paths = remaining_paths(dict(enumerate(layout.children)), seconds, layout.order)
        found = (paths[number] for number in range(len(nodes)))
        return [{} if path is None else {"path": str(whole_ms(path))} for path in found]

    def _job_fields(
        self, node: Node, run_priority: int, layout: Layout, parents: list[int], references: list[int]
    ) -> dict[str, str]:
        options = node.options
        executor = options.executor or ""
        control = is_control(node.task)
        tasks = self.around.tasks
        if tasks is not None and node.task.name not in tasks and not control:
            self.problems.append(f"{node.name}: the app has no task '{node.task.name}': no worker could run it")
        if executor not in self.executors and not control:
            known = ", ".join(sorted(self.executors))
            self.problems.append(f"{node.name}: executor '{executor}' is unknown; there are {known}")
        fields = {
            "task": node.task.name,
            "name": node.name,
            "executor": executor,
            "level": str(layout.levels[node.number]),
            "priority": str(run_priority),
            "spec": self._spec(node, executor),
        }
        if control:
            fields["control"] = node.task.short_name
        if parents:
            fields["parents"] = fields["deps"] = str(len(parents))
        if children := layout.children[node.number]:
            fields["children"] = ranges.pack(children)
        if references:
            fields["refs"] = ranges.pack(references)
        if self.options.tenant and not control:
            fields["tenant"] = str(self.options.tenant)
        if options.priority is not None:
            try:
                fields["priority"] = str(parse_priority(options.priority))
            except ConfigError as error:
                self.problems.append(f"{node.name}: {error}")
        if options.join != JoinRule.ALL_SUCCESS:
            self._join(fields, node)
        try:
            if not control and (needs := self._needs.of(node, executor)):
                fields["needs"] = needs
        except (ConfigError, PayloadError) as error:
            self.problems.append(f"{node.name}: {error}")
        self._check_seconds(node)
        if _is_seconds(options.estimated_runtime):
            fields["estimate"] = str(whole_ms(options.estimated_runtime))
        fields.update(self._limits(options, executor))
        own = self._sla_fields(options, f"{node.name}: ")
        return {**fields, **own, "sla": "1"} if own else fields

    def _check_seconds(self, node: Node) -> None:
        for name in ("estimated_runtime", "time_limit", "soft_time_limit"):
            value = getattr(node.options, name)
            if value is not None and not _is_seconds(value):
                self.problems.append(f"{node.name}: {name} must be seconds above 0, not {value!r}")

    def _join(self, fields: dict[str, str], node: Node) -> None:
        try:
            fields["rule"] = JoinRule(node.options.join).value
        except ValueError:
            known = ", ".join(JoinRule)
            given = node.options.join
            self.problems.append(f"{node.name}: join rule '{given}' is unknown; there are {known}")

    def _spec(self, node: Node, executor: str) -> str:
        """Jobs with the same policy share one copy of it; calls with the same options share the object."""
        known = self._spec_by_options.get(id(node.options))
        if known is not None:
            return known
        given = {name: getattr(node.options, name) for name in _POLICY}
        try:
            text = self.settings.retry_policy(executor, given).model_dump_json()
        except ValidationError as error:
            for item in error.errors():
                self.problems.append(f"{node.name}: {'.'.join(map(str, item['loc']))}: {item['msg']}")
            return ""
        number = self._specs.setdefault(text, str(len(self._specs)))
        self._spec_by_options[id(node.options)] = number
        return number

    def _limits(self, options: JobOptions, executor: str) -> dict[str, str]:
        defaults = self.settings.executors.get(executor)
        fields = {}
        for name in ("time_limit", "soft_time_limit"):
            limit = getattr(options, name) or (getattr(defaults, name) if defaults else None)
            if limit is not None:
                fields[name] = str(limit)
        return fields


def _is_seconds(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf

"""From a built DAG to a submission: everything is checked here, and all problems are reported at once."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from marie_celery.authoring.builder import Builder
from marie_celery.authoring.graph import Graph, comes_last
from marie_celery.authoring.job_fields import JobFields, sla_fields
from marie_celery.authoring.needs import NeedsOfJobs
from marie_celery.authoring.options import Duplicates, RunOptions
from marie_celery.authoring.payload import describe, encode_value
from marie_celery.authoring.reference import Ref
from marie_celery.authoring.wiring import Wiring
from marie_celery.config import Settings
from marie_celery.errors import ConfigError, DagError, PayloadError
from marie_celery.model import ranges
from marie_celery.model.priority import parse_priority
from marie_celery.planning.estimates import RuntimeEstimate
from marie_celery.planning.tenants import TENANT_NAME
from marie_celery.resources import ResourceSettings
from marie_celery.store.keys import MAX_JOBS_PER_RUN
from marie_celery.store.records import NewJob, NewRun


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
        self.around = around
        self.problems: list[str] = []
        self._wiring = Wiring(builder, self.problems)

    def compile(self, output: Any) -> NewRun:
        nodes = self.builder.nodes
        if not nodes:
            self.problems.append("it calls no task")
        if len(nodes) > MAX_JOBS_PER_RUN:
            self.problems.append(f"it has {len(nodes)} jobs; a run takes at most {MAX_JOBS_PER_RUN}")
        self.problems += self.builder.problems
        run_fields = self._run_fields(output)
        job_fields = JobFields(self.around, run_fields, self.problems)
        graph = Graph(self.builder, self.around, job_fields, self.problems, self.options.gate_every)
        jobs = graph.jobs()
        if self.problems:
            raise DagError(self.builder.dag, self.problems)
        if name := self._highlander(job_fields.needs, jobs):
            run_fields["highlander"] = name
        return NewRun(
            fields={**run_fields, "roots": ranges.pack(graph.roots())},
            specs={number: text for text, number in job_fields.specs.items()},
            executors=sorted(job_fields.executors),
            jobs=jobs,
            key=self.options.key or "",
            duplicates=Duplicates(self.options.duplicates).value,
            highlander=run_fields.get("highlander", ""),
        )

    def _highlander(self, needs: NeedsOfJobs, jobs: list[NewJob]) -> str:
        """Under which only one run may be under way: the dag says so, or the resource that its only job needs."""
        given = self.options.highlander
        if given:
            return f"dag:{self.builder.dag}" + (f"/{given}" if isinstance(given, str) else "")
        return needs.highlander(jobs[0].fields.get("needs")) if len(jobs) == 1 else ""

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
        fields.update(sla_fields(options, self.around.now_ms, "", self.problems))
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
        fields.update({str(node.role): str(node.number) for node in self.builder.nodes if comes_last(node)})
        try:
            if options.labels:
                fields["labels"] = json.dumps(encode_value(options.labels, "labels", self._output_reference))
            encoded = encode_value(output, "what the dag returns", self._output_reference)
            fields["output"] = json.dumps(encoded)
        except PayloadError as error:
            self.problems.append(str(error))
        return fields

    def _output_reference(self, ref: Ref) -> Any:
        self._wiring.check(ref)
        return describe(ref)

"""Workloads as plain records, to replay what a cluster has really done.

A record is one run as JSON carries it; times are milliseconds on one clock, from wherever it counts:

    {"arrival_ms": 0, "priority": 50, "soft_sla_ms": null, "hard_sla_ms": 60000,
     "jobs": [{"task": "split", "executor": "extract", "runtime_ms": 1500, "children": [1]},
              {"task": "read", "executor": "ocr", "runtime_ms": 6000, "children": []}]}

A job may have a priority and SLAs of its own. A file has one record in each line, or is one JSON document: a list
of records, or an object with the list as "runs". The slots are in that object, or in a line of their own:

    {"slots": {"extract": 4, "ocr": 16}}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from marie_celery.errors import ConfigError
from marie_celery.model.priority import PRIORITIES, parse_priority
from marie_celery.planning.job import LONGEST_MS
from marie_celery.planning.ranking import MOMENT_LAST
from marie_celery.simulation.workload import START_MS, Workload, WorkloadJob, WorkloadRun

# No cluster has recorded anything in 1970: a clock that shows less began to count with the recording.
YEAR_MS = 365 * 86_400_000

Moment = Annotated[int, Field(ge=0, le=MOMENT_LAST - START_MS)]
Priority = Annotated[int, BeforeValidator(parse_priority)]


class _Record(BaseModel):
    # Strict and closed: a misspelt "hard_sla" would otherwise be a run without SLA.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    soft_sla_ms: Moment | None = None
    hard_sla_ms: Moment | None = None


class _JobRecord(_Record):
    task: str
    executor: str
    runtime_ms: int = Field(ge=0, le=LONGEST_MS)
    children: tuple[int, ...] = Field((), strict=False)
    priority: Priority | None = None


class _RunRecord(_Record):
    arrival_ms: Moment
    jobs: tuple[_JobRecord, ...] = Field(strict=False)
    priority: Priority = PRIORITIES["normal"]


_SLOTS = TypeAdapter(dict[str, Annotated[int, Field(ge=0, strict=True)]])


def to_records(workload: Workload) -> list[dict[str, Any]]:
    return [asdict(run) for run in workload.runs]


def from_records(name: str, slots: Mapping[str, int], records: Iterable[Any]) -> Workload:
    runs = [_run(record, slots, f"run {number} of '{name}'") for number, record in enumerate(records, start=1)]
    if runs and min(run.arrival_ms for run in runs) < YEAR_MS:
        runs = [_moved(run, START_MS) for run in runs]
    return Workload(name, dict(slots), tuple(sorted(runs, key=lambda run: run.arrival_ms)))


def to_text(workload: Workload) -> str:
    """A line for the slots and one for each run."""
    lines = [{"slots": dict(workload.slots)}, *to_records(workload)]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def from_text(name: str, text: str, slots: Mapping[str, int] | None = None) -> Workload:
    """`slots` win over those in the text."""
    known, records = _documents(name, text)
    known |= slots or {}
    if not records:
        raise ConfigError(f"there are no runs in '{name}'")
    if not known:
        raise ConfigError(f"'{name}' does not say how many slots each executor has")
    return from_records(name, known, records)


def _documents(name: str, text: str) -> tuple[dict[str, int], list[Any]]:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None  # more than one line, or no JSON: the lines will tell
    if isinstance(whole, list):
        return {}, whole
    if isinstance(whole, dict) and "runs" in whole:
        if not isinstance(whole["runs"], list):
            raise ConfigError(f"the runs of '{name}' are no list")
        return _slots(name, whole.get("slots", {})), whole["runs"]
    slots: dict[str, int] = {}
    records = []
    for document in _lines(name, text):
        if isinstance(document, dict) and set(document) == {"slots"}:
            slots |= _slots(name, document["slots"])
        else:
            records.append(document)
    return slots, records


def _lines(name: str, text: str) -> Iterator[Any]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                raise ConfigError(f"line {number} of '{name}' is no JSON") from None


def _slots(name: str, given: Any) -> dict[str, int]:
    try:
        return _SLOTS.validate_python(given)
    except ValidationError as error:
        raise ConfigError(f"the slots of '{name}': {_problem(error)}") from None


def _run(given: Any, slots: Mapping[str, int], where: str) -> WorkloadRun:
    try:
        record = _RunRecord.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "missing":
            raise ConfigError(f"{where} has no '{first['loc'][-1]}'") from None
        raise ConfigError(f"{where}: {_problem(error)}") from None
    jobs = tuple(WorkloadJob(**dict(job)) for job in record.jobs)
    _check(jobs, slots, where)
    for each in (record, *record.jobs):
        if each.soft_sla_ms is not None and each.hard_sla_ms is not None and each.hard_sla_ms < each.soft_sla_ms:
            raise ConfigError(f"{where}: hard_sla_ms is before soft_sla_ms")
    return WorkloadRun(record.arrival_ms, jobs, record.priority, record.soft_sla_ms, record.hard_sla_ms)


def _problem(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{place}: {message}" if place else message


def _check(jobs: tuple[WorkloadJob, ...], slots: Mapping[str, int], where: str) -> None:
    if not jobs:
        raise ConfigError(f"{where} has no jobs")
    for position, job in enumerate(jobs):
        if slots.get(job.executor, 0) <= 0:
            raise ConfigError(f"{where} needs the executor '{job.executor}', which has no slots")
        if any(not position < child < len(jobs) for child in job.children):
            raise ConfigError(f"{where}: the children of job {position} must stand behind it")
        if len(set(job.children)) < len(job.children):
            raise ConfigError(f"{where}: job {position} has a child twice")


def _moved(run: WorkloadRun, by_ms: int) -> WorkloadRun:
    def later(moment: int | None) -> int | None:
        return None if moment is None else moment + by_ms

    jobs = tuple(
        replace(job, soft_sla_ms=later(job.soft_sla_ms), hard_sla_ms=later(job.hard_sla_ms)) for job in run.jobs
    )
    slas = later(run.soft_sla_ms), later(run.hard_sla_ms)
    return WorkloadRun(run.arrival_ms + by_ms, jobs, run.priority, *slas)

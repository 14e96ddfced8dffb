"""Workloads and planners as people describe them on a command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from marie_celery.errors import ConfigError
from marie_celery.model.durations import parse_duration
from marie_celery.model.priority import PRIORITIES, PriorityMode, parse_priority
from marie_celery.planning.settings import LevelMode, PlanningSettings
from marie_celery.simulation.generator import MINUTE_MS, SlaClass, WorkloadSpec

NONE = "-"


def changed_spec(spec: WorkloadSpec, slots: Mapping[str, int], options: Mapping[str, Any]) -> WorkloadSpec:
    """The scenario with what was said otherwise. It keeps its name, which the seed is mixed with."""
    plain = ("jobs", "load", "arrivals", "runtime_tail")
    changes = {name: options[name] for name in plain if options[name] is not None}
    if options["shape"]:
        changes["shapes"] = dict(map(parse_weight, options["shape"]))
    if options["sla"]:
        changes["sla_mix"] = tuple(map(parse_sla_class, options["sla"]))
    if slots:
        changes["slots"] = {**spec.slots, **slots}
    return replace(spec, **changes)


def planning_settings(options: Mapping[str, Any]) -> PlanningSettings:
    changes: dict[str, Any] = {}
    if options["priority_mode"]:
        changes["priority_mode"] = PriorityMode(options["priority_mode"])
    if options["level_mode"]:
        changes["level_mode"] = LevelMode(options["level_mode"])
    for name in ("starvation_timeout", "slack_patience"):
        span = options[name]
        if span is not None:
            changes[f"{name}_ms"] = 0 if span == "0" else parse_duration(span, name.replace("_", " "))
    return replace(PlanningSettings(), **changes)


def parse_slots(text: str) -> tuple[str, int]:
    """`ocr=16`"""
    name, _, number = text.rpartition("=")
    if not name or not (number.isascii() and number.isdecimal()) or not 0 < int(number) < 10**6:
        raise ConfigError(f"slots {text!r} are not like 'ocr=16'")
    return name, int(number)


def parse_weight(text: str) -> tuple[str, float]:
    """`chain=2.5`"""
    name, _, number = text.rpartition("=")
    if not name:
        raise ConfigError(f"{text!r} is not like 'chain=2'")
    return name, _weight(number)


def parse_sla_class(text: str) -> SlaClass:
    """`30:6s:15s:high`: weight, soft and hard SLA (`-` for none), and a priority if it is not `normal`."""
    parts = text.split(":")
    if len(parts) not in (3, 4):
        raise ConfigError(f"the SLA class {text!r} is not like '30:6s:15s:high' or '70:-:-'")
    weight, soft, hard, *priority = parts
    soft_minutes, hard_minutes = _minutes(soft, "soft SLA"), _minutes(hard, "hard SLA")
    if soft_minutes is not None and hard_minutes is not None and hard_minutes < soft_minutes:
        raise ConfigError(f"the SLA class {text!r} has its hard SLA before the soft one")
    chosen = parse_priority(priority[0]) if priority else PRIORITIES["normal"]
    return SlaClass(_weight(weight), soft_minutes, hard_minutes, {chosen: 1.0})


def _minutes(text: str, name: str) -> float | None:
    return None if text == NONE else parse_duration(text, name) / MINUTE_MS


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0 <= weight <= 10**9:
        raise ConfigError(f"the weight {text!r} is no number from 0 up")
    return weight

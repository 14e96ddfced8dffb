"""Planners by name, by a row of sort keys, or by the path of a class.

    planner("hrrn")
    planner("priority, estimated_runtime")     a row of sort keys, the first one first
    planner("my.module:MyPlanner")             needs nothing but a method `plan`

A swap is a new planner and new ranks for what waits; planners themselves remember nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

from marie_celery.errors import ConfigError
from marie_celery.planning.foreign import ForeignPlanner
from marie_celery.planning.global_priority import GlobalPriorityExecutionPlanner
from marie_celery.planning.hrrn import HRRNExecutionPlanner
from marie_celery.planning.keys import FIFO, KEYS
from marie_celery.planning.planner import ExecutionPlanner, KeyedPlanner
from marie_celery.planning.settings import PlanningSettings
from marie_celery.planning.sjfs import SJFSExecutionPlanner
from marie_celery.planning.slack import SlackExecutionPlanner
from marie_celery.planning.tours import FairToursPlanner

PLANNERS: dict[str, Callable[[PlanningSettings], ExecutionPlanner]] = {
    "global": lambda settings: GlobalPriorityExecutionPlanner(settings=settings),
    "classic": GlobalPriorityExecutionPlanner.classic,
    "slack": SlackExecutionPlanner,
    "hrrn": HRRNExecutionPlanner,
    "sjfs": SJFSExecutionPlanner,
    "tours": FairToursPlanner,
    "static": lambda settings: KeyedPlanner(("user_priority", "fifo"), settings),
    "fifo": lambda settings: KeyedPlanner(("fifo",), settings),
}


def needs_import(name: str) -> bool:
    """Whether it is the path of somebody's class."""
    return name not in PLANNERS and not _is_row(name) and (":" in name or "." in name)


def planner(name: str, settings: PlanningSettings | None = None) -> ExecutionPlanner:
    settings = settings or PlanningSettings()
    if name in PLANNERS:
        return PLANNERS[name](settings)
    if _is_row(name):
        return GlobalPriorityExecutionPlanner([key.strip() for key in name.split(",")], settings)
    if needs_import(name):
        return _imported(name, settings)
    raise ConfigError(
        f"there is no planner '{name}', only {', '.join(PLANNERS)} and paths like 'module:Class'"
    )


def _is_row(name: str) -> bool:
    return "," in name or name in KEYS or name == FIFO


def _imported(path: str, settings: PlanningSettings) -> ExecutionPlanner:
    module_name, _, attribute = path.partition(":") if ":" in path else path.rpartition(".")
    try:
        found: Any = getattr(import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"the planner '{path}' cannot be imported: {error}") from error
    if inspect.isclass(found):
        found = _made(found, settings)
    if isinstance(found, KeyedPlanner):
        return found
    return ForeignPlanner(found, stand_in=GlobalPriorityExecutionPlanner(settings=settings))


def _made(factory: Callable[..., Any], settings: PlanningSettings) -> Any:
    wants_settings = "settings" in inspect.signature(factory).parameters
    return factory(settings=settings) if wants_settings else factory()

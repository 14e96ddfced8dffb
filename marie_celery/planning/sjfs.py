"""Shortest job first."""

from __future__ import annotations

from marie_celery.planning.planner import KeyedPlanner
from marie_celery.planning.settings import PlanningSettings


class SJFSExecutionPlanner(KeyedPlanner):
    """By estimated runtime, jobs without an estimate last. Long jobs can starve under constant load."""

    def __init__(self, settings: PlanningSettings | None = None) -> None:
        super().__init__(("estimated_runtime", "priority", "level", "fifo"), settings)

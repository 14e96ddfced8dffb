"""Highest response ratio next: who has waited longest for the little that it wants."""

from __future__ import annotations

from marie_celery.planning.planner import KeyedPlanner
from marie_celery.planning.settings import PlanningSettings


class HRRNExecutionPlanner(KeyedPlanner):
    """By (wait + estimated runtime) / estimated runtime, the highest first.

    A job without an estimate counts as endless, so its ratio stays at 1 and only the other keys help it.
    """

    def __init__(self, settings: PlanningSettings | None = None) -> None:
        super().__init__(("response_ratio", "free_slots", "level", "priority", "fifo"), settings)

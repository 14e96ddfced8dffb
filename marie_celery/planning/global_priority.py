"""The standard planner: active runs first, then depth, urgency, room, shortness and order of submission."""

from __future__ import annotations

from collections.abc import Sequence

from marie_celery.planning.planner import KeyedPlanner
from marie_celery.planning.settings import PlanningSettings

DEFAULT = ("blocked", "new_dag", "level", "priority", "free_slots", "estimated_runtime", "burst", "fifo")
CLASSIC = ("level", "priority", "free_slots", "new_dag", "estimated_runtime", "burst", "fifo")


class GlobalPriorityExecutionPlanner(KeyedPlanner):
    """Give it another row of key names to compose your own order."""

    def __init__(self, keys: Sequence[str] = DEFAULT, settings: PlanningSettings | None = None) -> None:
        super().__init__(keys, settings)

    @classmethod
    def classic(cls, settings: PlanningSettings | None = None) -> GlobalPriorityExecutionPlanner:
        """Depth before everything else, new runs only at a tie."""
        return cls(CLASSIC, settings)

"""The knobs that all planners share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from marie_celery.model.priority import PriorityMode


class LevelMode(StrEnum):
    DEPTH = "depth"
    CRITICAL_PATH = "critical_path"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningSettings:
    priority_mode: PriorityMode = PriorityMode.SLA_FIRST
    level_mode: LevelMode = LevelMode.DEPTH
    starvation_timeout_ms: int = 1_800_000
    burst_window_ms: int = 10_000
    slack_patience_ms: int = 43_200_000
    """The deadline, for the slack planner, of a run of priority 0 that has none."""

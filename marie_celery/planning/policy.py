"""The planner in force as fields of a Redis hash: all that the scripts need to rank a job as the planner would."""

from __future__ import annotations

from marie_celery.planning.foreign import ForeignPlanner
from marie_celery.planning.planner import ExecutionPlanner, KeyedPlanner
from marie_celery.planning.share import share_in_thousandths

NO_SHARE = -1
"""The planner does not put active runs first, so new ones need no share."""


def policy_fields(
    planner: ExecutionPlanner,
    *,
    name: str = "global",
    new_dag_share: float = 0.3,
    max_active_dags: int = 0,
    on_shortage: str = "hold",
    max_skips: int = 100,
) -> dict[str, str]:
    ranking = ranks_by(planner)
    settings = ranking.settings
    share = share_in_thousandths(new_dag_share) if planner.prefers_active_dags else NO_SHARE
    return {
        "name": name,
        "rank_keys": " ".join(key.name for key in ranking.keys if key.in_rank),
        "priority_mode": settings.priority_mode.value,
        "level_mode": settings.level_mode.value,
        "starvation_ms": str(settings.starvation_timeout_ms),
        "burst_ms": str(settings.burst_window_ms),
        "patience_ms": str(settings.slack_patience_ms),
        "share": str(share),
        "max_active_dags": str(max_active_dags),
        "parks": str(int(planner.parks)),
        "relays": str(int(planner.parks and planner is ranking)),
        "on_shortage": on_shortage,
        "max_skips": str(max_skips),
    }


def ranks_by(planner: ExecutionPlanner) -> KeyedPlanner:
    """The planner whose ranks are in Redis: a user's own planner orders what the stand-in brings to the front."""
    if isinstance(planner, KeyedPlanner):
        return planner
    assert isinstance(planner, ForeignPlanner)
    return planner.stand_in

"""Planners for a simulation, also those of strangers, which may do anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from marie_celery.errors import ConfigError, MarieError
from marie_celery.planning.job import FlatJob
from marie_celery.planning.keys import FIFO, KEYS
from marie_celery.planning.planner import NO_DAGS, ExecutionPlanner
from marie_celery.planning.ranking import Rank
from marie_celery.planning.registry import PLANNERS, planner
from marie_celery.planning.settings import PlanningSettings


def resolve(name: str, settings: PlanningSettings | None = None) -> ExecutionPlanner:
    """As `planner`, but whatever a stranger's planner raises is one `ConfigError` that names it."""
    try:
        found = planner(name, settings)
    except MarieError:
        raise
    except Exception as error:
        raise _failed(name, error) from error
    return found if _is_ours(name) else GuardedPlanner(name, found)


def _is_ours(name: str) -> bool:
    return name in PLANNERS or {key.strip() for key in name.split(",")} <= {*KEYS, FIFO}


class GuardedPlanner:
    """Stands between the simulator and a planner that we did not write."""

    def __init__(self, name: str, planner: ExecutionPlanner) -> None:
        self._name = name
        self._planner = planner
        self.only_plans: bool = getattr(planner, "only_plans", False)
        self.prefers_active_dags: bool = getattr(planner, "prefers_active_dags", False)
        self.parks: bool = getattr(planner, "parks", True)

    def plan(
        self,
        jobs: Sequence[FlatJob],
        slots: Mapping[str, int],
        active_dags: AbstractSet[str],
        recently_activated_dags: AbstractSet[str] = NO_DAGS,
        **more: Any,
    ) -> list[FlatJob]:
        try:
            return self._planner.plan(jobs, slots, active_dags, recently_activated_dags, **more)
        except Exception as error:
            raise _failed(self._name, error) from error

    def rank(self, job: FlatJob, now_ms: int) -> Rank:
        try:
            score, until_ms = self._planner.rank(job, now_ms)
            checked = Rank(float(score), None if until_ms is None else int(until_ms))
        except Exception as error:
            raise _failed(self._name, error) from error
        if checked.score != checked.score:
            raise ConfigError(f"the planner '{self._name}' gave job {job.job_id} the rank NaN")
        # A place that has ended already would be asked for again and again.
        if checked.valid_until_ms is not None and checked.valid_until_ms <= now_ms:
            raise ConfigError(f"the planner '{self._name}' gave job {job.job_id} a rank that has ended already")
        return checked


def _failed(name: str, error: Exception) -> ConfigError:
    said = " ".join(str(error).split())
    return ConfigError(f"the planner '{name}' failed: {type(error).__name__}{f': {said}' if said else ''}")

"""Planners that users bring along: a class with a method `plan` is enough."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from marie_celery.errors import ConfigError
from marie_celery.planning.job import FlatJob
from marie_celery.planning.keys import is_blocked
from marie_celery.planning.planner import NO_DAGS, KeyedPlanner
from marie_celery.planning.ranking import Rank


class ForeignPlanner:
    """Calls the user's `plan` with the arguments that it knows, and ranks for it if it does not rank itself.

    Such a planner orders the candidates that the ranks of `stand_in` bring to the front of each executor, not
    all that waits. A `rank` of its own is used where ranks are made in Python, which is in simulations.
    """

    prefers_active_dags = False
    parks = True

    def __init__(self, planner: Any, stand_in: KeyedPlanner) -> None:
        if not callable(getattr(planner, "plan", None)):
            raise ConfigError(f"{planner!r} is no planner: it has no method 'plan'")
        self.planner = planner
        self.stand_in = stand_in
        own_rank: Callable[[FlatJob, int], Rank] | None = getattr(planner, "rank", None)
        self.only_plans = own_rank is None
        self._rank = own_rank or stand_in.rank
        parameters = inspect.signature(planner.plan).parameters.values()
        self._takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters)
        self._takes = {each.name for each in parameters}

    def plan(
        self,
        jobs: Sequence[FlatJob],
        slots: Mapping[str, int],
        active_dags: AbstractSet[str],
        recently_activated_dags: AbstractSet[str] = NO_DAGS,
        *,
        exclude_blocked: bool = False,
        now_ms: int | None = None,
    ) -> list[FlatJob]:
        if exclude_blocked:
            jobs = [job for job in jobs if not is_blocked(job, slots)]
        offered = {
            "recently_activated_dags": recently_activated_dags,
            "exclude_blocked": exclude_blocked,
            "now_ms": now_ms,
        }
        known = {name: value for name, value in offered.items() if self._takes_all or name in self._takes}
        # A copy for a stranger, who may sort in place.
        return list(self.planner.plan(list(jobs), slots, active_dags, **known))

    def rank(self, job: FlatJob, now_ms: int) -> Rank:
        return self._rank(job, now_ms)

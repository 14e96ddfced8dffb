"""Fair tours: every executor is a queue, and each tour takes one job of each, the longest waiting queue first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from marie_celery.planning.job import FlatJob
from marie_celery.planning.planner import NO_DAGS, KeyedPlanner
from marie_celery.planning.settings import PlanningSettings


class FairToursPlanner(KeyedPlanner):
    """Within a queue: priority, then age. A job that is short of a resource keeps its place, so that its queue can wait
    for it; `scheduler/tours.py` asks the resources in the order of the tours."""

    parks = False

    def __init__(self, settings: PlanningSettings | None = None) -> None:
        super().__init__(("user_priority", "fifo"), settings)

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
        queues: dict[str, list[FlatJob]] = {}
        for job in super().plan(
            jobs, slots, active_dags, recently_activated_dags, exclude_blocked=exclude_blocked, now_ms=now_ms
        ):
            queues.setdefault(job.executor, []).append(job)
        order = sorted(queues.values(), key=lambda queue: (queue[0].ready_ms, queue[0].executor))
        longest = max(map(len, order), default=0)
        return [queue[tour] for tour in range(longest) for queue in order if tour < len(queue)]

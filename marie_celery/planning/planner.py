"""What a planner is, and the one way in which ours work: a row of sort keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol, runtime_checkable

from marie_celery.planning.job import FlatJob
from marie_celery.planning.keys import View, earliest, is_blocked, sort_keys
from marie_celery.planning.ranking import Rank, unpack
from marie_celery.planning.settings import PlanningSettings

NO_DAGS: frozenset[str] = frozenset()


@runtime_checkable
class ExecutionPlanner(Protocol):
    """Decides which job is next. Both methods are pure: same arguments, same answer, nothing touched."""

    @property
    def prefers_active_dags(self) -> bool:
        """Whether new runs stand behind all active ones, and so need a share of the choices."""
        ...

    @property
    def parks(self) -> bool:
        """Whether jobs that are short of a resource stand aside, so that they hide nobody who needs none of it."""
        ...

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
        """The jobs, best first. `slots` are the free ones by executor.

        Without `now_ms` the moment is the latest that the jobs know of: when the last of them became ready.
        """
        ...

    def rank(self, job: FlatJob, now_ms: int) -> Rank:
        """The place of the job among those of its executor, and until when it holds.

        For one executor, ordering by rank and then by job id gives what `plan` gives.
        """
        ...


class KeyedPlanner:
    """Orders jobs by a row of named sort keys, the first one first."""

    parks: bool = True

    def __init__(self, keys: Sequence[str], settings: PlanningSettings | None = None) -> None:
        self.settings = settings or PlanningSettings()
        self.keys = sort_keys(tuple(keys))
        self._fields = [(key.place, key.bits) for key in self.keys]
        self._rank_fields = [(key.place, key.bits) for key in self.keys if key.in_rank]
        self._changes = [key.next_change for key in self.keys if key.next_change]

    @property
    def prefers_active_dags(self) -> bool:
        return [key.name for key in self.keys if key.in_rank][:1] == ["new_dag"]

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
        if now_ms is None:
            now_ms = max((job.ready_ms for job in jobs), default=0)
        if exclude_blocked:
            jobs = [job for job in jobs if not is_blocked(job, slots)]
        view = View(now_ms, self.settings, slots, active_dags, recently_activated_dags)
        fields = self._fields

        def place(job: FlatJob) -> tuple[int, str]:
            packed = 0
            for value, bits in fields:
                packed = packed << bits | value(job, view)
            return packed, job.job_id

        return sorted(jobs, key=place)

    def rank(self, job: FlatJob, now_ms: int) -> Rank:
        view = View(now_ms, self.settings)
        packed = 0
        for value, bits in self._rank_fields:
            packed = packed << bits | value(job, view)
        return Rank(float(packed), earliest(*(change(job, view) for change in self._changes)))

    def explain(self, score: float) -> dict[str, int]:
        """The fields of a rank by name; in each of them, smaller is sooner."""
        ranked = [key for key in self.keys if key.in_rank]
        values = unpack(score, [key.bits for key in ranked])
        return dict(zip((key.name for key in ranked), values, strict=True))

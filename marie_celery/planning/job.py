"""What a planner knows about a job."""

from __future__ import annotations

from dataclasses import dataclass

from marie_celery.errors import ConfigError
from marie_celery.model.priority import MAX_PRIORITY

# 34 years. It bounds what the arithmetic of ranks has to carry exactly.
LONGEST_MS = 2**40


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatJob:
    """A ready job, flattened: everything that decides its place, and nothing that needs a look-up.

    The ids of jobs sort in the order of submission. Times are milliseconds since the epoch, runtimes are
    seconds. A run is what the planners' `active_dags` and `recently_activated_dags` hold the ids of.
    """

    job_id: str
    run_id: str
    task: str = ""
    executor: str = ""
    level: int = 0
    priority: int = 50
    soft_sla_ms: int | None = None
    hard_sla_ms: int | None = None
    submitted_ms: int = 0
    ready_ms: int = 0
    estimated_runtime: float | None = None
    remaining_path: float | None = None
    """The longest way from the start of this job to the end of its run, by estimates."""
    run_activated_ms: int | None = None
    """When the first job of its run was chosen; None while the run is new."""
    needs_slot: bool = True

    def __post_init__(self) -> None:
        # Ranks give each field so many bits; a value outside would change the meaning of its neighbours.
        if not 0 <= self.priority <= MAX_PRIORITY:
            raise ConfigError(f"job {self.job_id} has the priority {self.priority}, outside 0–{MAX_PRIORITY}")
        if self.level < 0:
            raise ConfigError(f"job {self.job_id} has the level {self.level}, below 0")

    @property
    def new_dag(self) -> bool:
        return self.run_activated_ms is None

    @property
    def runtime_ms(self) -> int | None:
        """The estimate in whole milliseconds; None stands for +inf, as do NaN and negative ones."""
        return whole_ms(self.estimated_runtime)

    @property
    def path_ms(self) -> int | None:
        """The remaining path in whole milliseconds; the job's own runtime if the rest is unknown."""
        path = whole_ms(self.remaining_path)
        return self.runtime_ms if path is None else path


def whole_ms(seconds: float | None) -> int | None:
    if seconds is None or not 0 <= seconds < float("inf"):
        return None
    # Rounded: 1009 ms as 1.009 s must come back as 1009, or a rank would differ from the one in Redis.
    return round(min(seconds * 1000, LONGEST_MS))

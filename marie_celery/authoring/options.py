"""What can be said of a job or a run, beside its arguments."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from marie_celery.model.joins import JoinRule
from marie_celery.model.sla import OnHardSla, SlaValue
from marie_celery.resources import Wishes, merge_wishes

if TYPE_CHECKING:
    from marie_celery.authoring.task import Task


class Duplicates(StrEnum):
    """What to do when a run with the same key exists."""

    ALLOW_ALL = "allow_all"
    """Accept always."""
    ALLOW_DUPLICATE = "allow_duplicate"
    """Accept unless the other run is still going."""
    REJECT_DUPLICATE = "reject_duplicate"
    """Accept only if the other run ended without success."""
    REJECT_ALL = "reject_all"
    """Accept only if there is no other run."""
    REPLACE = "replace"
    """Cancel the other run if it is still going, and accept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    def but(self, **changes: Any) -> Self:
        known = {item.name for item in fields(self)}
        unknown = sorted(set(changes) - known)
        if unknown:
            raise TypeError(f"unknown option {', '.join(unknown)}; there are {', '.join(sorted(known))}")
        return replace(self, **changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions(_Options):
    """None means: as the executor or the settings say."""

    name: str | None = None
    executor: str | None = None
    priority: int | str | None = None
    soft_sla: SlaValue | None = None
    hard_sla: SlaValue | None = None
    on_hard_sla: OnHardSla | str | None = None
    estimated_runtime: float | None = None
    join: JoinRule | str = JoinRule.ALL_SUCCESS
    time_limit: float | None = None
    soft_time_limit: float | None = None
    retry_limit: int | None = None
    retry_delay: float | None = None
    retry_backoff: bool | None = None
    retry_max_delay: float | None = None
    retry_jitter: float | None = None
    timeout_retry_limit: int | None = None
    crash_limit: int | None = None
    resources: Wishes | None = None
    """Resource → amount, key, or both; what a call says is laid over what its task says."""
    relay: bool | None = None
    """False: it always comes by a message of its own, and its process goes on with nothing after it."""
    concurrency_key: str | None = None
    """A parameter: its value is the key under which a resource of that name counts."""

    def but(self, **changes: Any) -> Self:
        if "resources" in changes:
            changes["resources"] = merge_wishes(self.resources, changes["resources"])
        return super(JobOptions, self).but(**changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(_Options):
    priority: int | str | None = None
    soft_sla: SlaValue | None = None
    hard_sla: SlaValue | None = None
    on_hard_sla: OnHardSla | str | None = None
    key: str | None = None
    duplicates: Duplicates | str = Duplicates.REJECT_DUPLICATE
    fail_fast: bool = False
    tenant: str | None = None
    """Whose it is: tenants share each executor by their weights."""
    highlander: bool | str = False
    """Only one run of this dag (with this name) may be under way, and one may wait."""
    labels: dict[str, str] = field(default_factory=dict)
    gate: Task[..., Any] | None = None
    """A task that has to return something true before anything else of the run starts."""
    gate_every: float = 10.0
    """Seconds until a gate that said no is asked again."""
    on_failure: Task[..., Any] | None = None
    """Runs when all others have ended and one of them failed."""
    finally_: Task[..., Any] | None = None
    """Runs last, however the others ended."""

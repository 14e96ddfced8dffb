"""What can happen to a run (events), and what has to be done then (effects)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from marie_celery.model.retry import FailureKind


@dataclass(frozen=True, slots=True)
class Begun:
    """Somebody has taken the job on."""

    number: int


@dataclass(frozen=True, slots=True)
class Completed:
    number: int
    token: int
    result: str
    """As JSON."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """The task asked for it."""

    number: int
    token: int
    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    number: int
    token: int
    kind: FailureKind
    error: Mapping[str, str]
    give_up: bool = False
    """The error itself forbids another try."""
    delay: float | None = None
    """Seconds that the task asked for; None = by the policy."""
    roll: float = 0.0
    """0–1, for the jitter."""


@dataclass(frozen=True, slots=True)
class Due:
    """The delay before a retry is over."""

    number: int


@dataclass(frozen=True, slots=True)
class HardSlaMissed:
    """Of a job with SLAs of its own, or of the run and all others (None)."""

    number: int | None


@dataclass(frozen=True, slots=True)
class Cancelled:
    reason: str = "cancelled"


Report = Completed | Skipped | Failed
Event = Begun | Report | Due | HardSlaMissed | Cancelled


@dataclass(frozen=True, slots=True)
class MakeReady:
    number: int


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Come back with the event after so many seconds."""

    seconds: float
    event: Event


Effect = MakeReady | WaitFor

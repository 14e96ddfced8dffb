"""What can happen to a run (events), and what has to be done then (effects)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from marie_celery.model.retry import FailureKind

if TYPE_CHECKING:
    from marie_celery.store.expanding import MapItem
    from marie_celery.store.records import NewJob


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
class Waited:
    """The task said that it is too early; that costs no retry."""

    number: int
    token: int
    reason: str
    seconds: float | None = None
    """None = as its options say."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """The items of a map are known."""

    number: int
    items: Sequence[MapItem]


@dataclass(frozen=True, slots=True)
class Grown:
    """The items of a mapped dag are known: so many jobs for each, numbered after those that are there."""

    number: int
    graphs: Sequence[Sequence[NewJob]]
    now_ms: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A map cannot take items from what it was given."""

    number: int
    error: Mapping[str, str]


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


Report = Completed | Skipped | Failed | Waited
Event = Begun | Report | Expanded | Grown | Refused | Due | HardSlaMissed | Cancelled


@dataclass(frozen=True, slots=True)
class MakeReady:
    number: int


@dataclass(frozen=True, slots=True)
class WaitFor:
    """Come back with the event after so many seconds."""

    seconds: float
    event: Event


@dataclass(frozen=True, slots=True)
class Expand:
    """Find out the items of a map."""

    number: int


Effect = MakeReady | WaitFor | Expand

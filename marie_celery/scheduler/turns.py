"""What the nodes of the scheduler tell each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from marie_celery.store.records import Candidate, Outlook


@dataclass(frozen=True, slots=True)
class Due:
    """It is time for this duty."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn of a duty has seen and done."""

    duty: str
    worked: bool = False
    slots_free: bool = False
    next_seconds: float | None = None
    """Look again after this long at the latest."""
    dues: Mapping[str, float] = field(default_factory=dict)
    """What is known of other duties: seconds until they are due."""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to send now, in order."""

    jobs: Sequence[Candidate]
    outlook: Outlook
    skips: Mapping[str, int] = field(default_factory=dict)
    """Job → how often others have passed it, where the planner counts that."""

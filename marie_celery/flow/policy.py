"""What an edge does with a data message for which it has no room.

| policy     | full edge                                        | put returns  |
|------------|--------------------------------------------------|--------------|
| `BLOCK`    | takes nothing; the producer is parked            | `BLOCKED`    |
| `DROP`     | the new message is dropped                       | `DROPPED`    |
| `LATEST`   | the oldest message makes way for the new one     | `REPLACED`   |
| `coalesce` | the new message is merged into the newest one    | `COALESCED`  |

Control messages block whatever the policy: they are never dropped, replaced or merged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal


class PutResult(Enum):
    OK = "ok"
    BLOCKED = "blocked"
    DROPPED = "dropped"
    COALESCED = "coalesced"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class Policy:
    """One of the constants below, or what `coalesce` returns."""

    name: Literal["block", "drop", "latest", "coalesce"]
    merge: Callable[[Any, Any], Any] | None = None

    def __post_init__(self) -> None:
        if self.name not in ("block", "drop", "latest", "coalesce"):
            raise ValueError(f"there is no policy '{self.name}'")
        if (self.name == "coalesce") != callable(self.merge):
            raise ValueError("a merge function belongs to the policy 'coalesce', and only to it")


BLOCK = Policy("block")
DROP = Policy("drop")
LATEST = Policy("latest")


def coalesce(merge: Callable[[Any, Any], Any]) -> Policy:
    """`merge(waiting, new)` gets two payloads and returns the payload that stands for both.

    It should be a pure function: a transaction over several edges tries it once before it commits. If it
    raises, nothing is merged, the error is reported and the new message waits like on a block edge.
    """
    return Policy("coalesce", merge)

"""What the scripts answer. The constants in Lua are generated from this enum."""

from __future__ import annotations

from enum import IntEnum


class Code(IntEnum):
    OK = 0
    STALE = 1
    """The token is old or the job has moved on; nothing was changed."""
    NOT_READY = 2
    FULL = 3
    DUPLICATE = 4
    GONE = 5
    """The submission took longer than its lease and was cleared away."""
    UNKNOWN = 6
    ENDED = 7
    DAG_LIMIT = 8
    """Its run has not begun, and max_active_dags others have."""
    SHORT = 9
    """A resource has some left, not enough."""
    EXHAUSTED = 10
    """A resource has nothing left, or is kept for somebody else."""
    WAITING = 11
    """Only one run of its name may wait, and one does."""

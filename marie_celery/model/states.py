"""The life of a job and of a run: states, and the one table of allowed transitions.

The Lua scripts get their copy of the table generated from this one (see `store/scripts.py`), and the diagram
in `docs/internals.md` is tested against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from marie_celery.errors import IllegalTransition


class WorkState(StrEnum):
    """States of a job."""

    CREATED = "created"
    READY = "ready"
    DISPATCHED = "dispatched"
    ACTIVE = "active"
    RETRY = "retry"
    HELD = "held"
    COMPLETED = "completed"
    SKIPPED = "skipped"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"

    @property
    def terminal(self) -> bool:
        return self in TERMINAL

    @property
    def successful(self) -> bool:
        return self in (WorkState.COMPLETED, WorkState.SKIPPED)


class RunState(StrEnum):
    CREATED = "created"
    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"

    @property
    def terminal(self) -> bool:
        return self not in (RunState.CREATED, RunState.ACTIVE, RunState.PAUSED)


TERMINAL: Final = frozenset(
    {
        WorkState.COMPLETED,
        WorkState.SKIPPED,
        WorkState.FAILED,
        WorkState.CANCELLED,
        WorkState.EXPIRED,
    }
)

_STOPPED: Final = (WorkState.CANCELLED, WorkState.EXPIRED)

TRANSITIONS: Final[Mapping[WorkState, frozenset[WorkState]]] = {
    WorkState.CREATED: frozenset({WorkState.READY, WorkState.SKIPPED, WorkState.HELD, *_STOPPED}),
    # A control job has no worker: it ends the moment it is ready, or (a map) is active while its items are.
    WorkState.READY: frozenset(
        {WorkState.DISPATCHED, WorkState.ACTIVE, WorkState.COMPLETED, WorkState.FAILED, WorkState.HELD, *_STOPPED}
    ),
    # Back to ready: nobody started it in time. Retry and failed: its process died before it could start.
    WorkState.DISPATCHED: frozenset(
        {WorkState.ACTIVE, WorkState.READY, WorkState.RETRY, WorkState.FAILED, *_STOPPED}
    ),
    WorkState.ACTIVE: frozenset(
        {WorkState.COMPLETED, WorkState.SKIPPED, WorkState.FAILED, WorkState.RETRY, WorkState.READY, *_STOPPED}
    ),
    WorkState.RETRY: frozenset({WorkState.READY, WorkState.HELD, *_STOPPED}),
    WorkState.HELD: frozenset({WorkState.CREATED, WorkState.READY, WorkState.RETRY, *_STOPPED}),
    **{state: frozenset() for state in TERMINAL},
}


def check_transition(source: WorkState, target: WorkState) -> None:
    if target not in TRANSITIONS[source]:
        raise IllegalTransition(source, target)


def run_outcome(counts: Mapping[WorkState, int], *, cancelled: bool) -> RunState:
    """The state of a run whose jobs have all ended.

    An order to cancel decides; otherwise the worst end does: failed, then expired, then cancelled.
    """
    if cancelled:
        return RunState.CANCELLED
    for state, outcome in (
        (WorkState.FAILED, RunState.FAILED),
        (WorkState.EXPIRED, RunState.EXPIRED),
        (WorkState.CANCELLED, RunState.CANCELLED),
    ):
        if counts.get(state, 0):
            return outcome
    return RunState.COMPLETED

"""The contract of an edge: a bounded buffer with two lanes between one output port and one input port.

`MemoryEdge` is the edge inside a process. Another implementation may keep its messages elsewhere, for example
in a bounded list on a server, and so join two processes; the runtime asks nothing more than this protocol.
`tests/unit/flow/edge_contract.py` is the suite that every implementation has to pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from marie_celery.flow.errors import BadSetting
from marie_celery.flow.message import Lane, Message
from marie_celery.flow.policy import Policy, PutResult

DEFAULT_CAPACITY = 64


@dataclass(frozen=True, slots=True)
class EdgeCounts:
    """Messages since the edge was made. Always: accepted = taken + replaced + waiting."""

    accepted: int = 0
    taken: int = 0
    dropped: int = 0
    replaced: int = 0
    coalesced: int = 0
    blocked: int = 0


class EdgeListener(Protocol):
    """How an edge speaks to the runtime. Both may be called from any thread."""

    def changed(self) -> None:
        """Messages arrived or room was made on the far side."""

    def failed(self, error: Exception) -> None:
        """Something went wrong that no caller can be told of, such as a merge function that raised."""


class Edge(Protocol):
    """`capacity` bounds each lane by itself."""

    @property
    def capacity(self) -> int: ...

    @property
    def policy(self) -> Policy: ...

    def set_capacity(self, capacity: int) -> None:
        """From any thread. Never discards what waits: a shrunk edge is full until it was drained."""

    def attach(self, listener: EdgeListener, *, sends: bool = True, takes: bool = True) -> None:
        """Called once, before the first message; tells which ends of the edge are in this process."""

    def check(self, message: Message) -> None:
        """Raises if this edge can never carry the message. Asked of remote edges, when a node emits."""

    def put(self, message: Message) -> PutResult:
        """One message. BLOCKED means that the edge did not take it and kept no trace of it."""

    def put_all(self, messages: Sequence[Message]) -> bool:
        """All of them in order, or (False) none of them.

        A group that is larger than the capacity is taken when its lane is empty. Without that exception it
        could never pass, and its messages exist in memory already.
        """

    def admits(self, messages: Sequence[Message]) -> bool:
        """Whether `put_all` would take them now. An edge has one producer, so room only grows in between."""

    def take(self, lane: Lane) -> Message | None:
        """The oldest message of the lane."""

    def settle(self, message: Message) -> None:
        """The message that was taken is dealt with for good, with all that came of it.

        An edge that survives the process may forget it now; if it never hears this, it must hand it out
        again.
        """

    def depth(self, lane: Lane) -> int:
        """How many messages `take` could return. Asked after every message: answer from memory."""

    def counts(self) -> EdgeCounts: ...

    def refresh(self) -> None:
        """Look at the far side again; only asked of remote edges, after a wait and on a slow cadence."""


EdgeFactory = Callable[[str, int, Policy], Edge]
"""Makes an edge from its id, capacity and policy; `MemoryEdge` is one."""


def check_capacity(edge_id: str, capacity: object) -> None:
    if not isinstance(capacity, int) or isinstance(capacity, bool) or capacity < 1:
        raise BadSetting(edge_id, "capacity", capacity, "must be an integer of at least 1")

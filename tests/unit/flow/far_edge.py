"""An edge with its two ends in different schedulers, as if in different processes: one store, two handles."""

from __future__ import annotations

from collections.abc import Sequence

from marie_celery.flow import EdgeCounts, EdgeListener, Lane, MemoryEdge, Message, Policy, PutResult


class FarStore:
    """What both ends see. Survives the death of an end."""

    def __init__(self, capacity: int, policy: Policy) -> None:
        self.buffer = MemoryEdge("far", capacity, policy)
        self.unsettled: list[Message] = []
        self.ends: list[FarEdge] = []
        self.is_down = False
        self.refreshes = 0

    def end(self, id: str, capacity: int, policy: Policy) -> FarEdge:
        end = FarEdge(self)
        self.ends.append(end)
        return end

    def hand_out_again(self) -> None:
        """What a dead consumer had taken and not settled."""
        for message in reversed(self.unsettled):
            self.buffer._data.appendleft(message)
        self.unsettled.clear()


class FarEdge:
    def __init__(self, store: FarStore) -> None:
        self._store = store
        self._listener: EdgeListener | None = None

    @property
    def capacity(self) -> int:
        return self._store.buffer.capacity

    @property
    def policy(self) -> Policy:
        return self._store.buffer.policy

    def set_capacity(self, capacity: int) -> None:
        self._store.buffer.set_capacity(capacity)

    def attach(self, listener: EdgeListener, *, sends: bool = True, takes: bool = True) -> None:
        self._listener = listener
        self._store.buffer.attach(listener)

    def check(self, message: Message) -> None:
        if isinstance(message.payload, set):
            raise TypeError("a set cannot travel")

    def put(self, message: Message) -> PutResult:
        return self._reach().put(message)

    def put_all(self, messages: Sequence[Message]) -> bool:
        return self._reach().put_all(messages)

    def admits(self, messages: Sequence[Message]) -> bool:
        return self._reach().admits(messages)

    def take(self, lane: Lane) -> Message | None:
        message = self._reach().take(lane)
        if message is not None:
            self._store.unsettled.append(message)
        return message

    def settle(self, message: Message) -> None:
        self._reach()
        self._store.unsettled.remove(message)

    def depth(self, lane: Lane) -> int:
        return self._reach().depth(lane)

    def counts(self) -> EdgeCounts:
        return self._store.buffer.counts()

    def refresh(self) -> None:
        self._store.refreshes += 1
        self._reach()

    def tell(self) -> None:
        """As a thread of the edge would, when the other end did something."""
        assert self._listener is not None
        self._listener.changed()

    def _reach(self) -> MemoryEdge:
        if self._store.is_down:
            raise ConnectionError("the store is down")
        return self._store.buffer

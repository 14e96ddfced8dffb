"""The edge inside a process: two deques."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Sequence

from marie_celery.flow.edge import DEFAULT_CAPACITY, EdgeCounts, EdgeListener, check_capacity
from marie_celery.flow.errors import NotAccepting
from marie_celery.flow.message import Kind, Lane, Message
from marie_celery.flow.policy import BLOCK, Policy, PutResult

logger = logging.getLogger(__name__)


class MemoryEdge:
    """Used by one thread at a time; only `set_capacity` may come from another."""

    def __init__(self, id: str, capacity: int = DEFAULT_CAPACITY, policy: Policy = BLOCK) -> None:
        check_capacity(id, capacity)
        self.id = id
        self.policy = policy
        self.capacity = capacity
        self._control: deque[Message] = deque()
        self._data: deque[Message] = deque()
        self._listener: EdgeListener | None = None
        self._accepted = self._taken = self._dropped = self._replaced = self._coalesced = self._blocked = 0

    def set_capacity(self, capacity: int) -> None:
        check_capacity(self.id, capacity)
        self.capacity = capacity

    def attach(self, listener: EdgeListener, *, sends: bool = True, takes: bool = True) -> None:
        self._listener = listener

    def check(self, message: Message) -> None:
        """Inside a process anything can be carried."""

    def put(self, message: Message) -> PutResult:
        waiting = self._control if message.kind is Kind.CONTROL else self._data
        if len(waiting) < self.capacity:
            waiting.append(message)
            self._accepted += 1
            return PutResult.OK
        if waiting is self._data:
            result = self._overflow(message)
            if result is not PutResult.BLOCKED:
                return result
        self._blocked += 1
        return PutResult.BLOCKED

    def put_all(self, messages: Sequence[Message]) -> bool:
        if not self.admits(messages):
            self._blocked += 1
            return False
        for message in messages:
            waiting = self._control if message.kind is Kind.CONTROL else self._data
            full = waiting is self._data and len(waiting) >= self.capacity
            # A group that was admitted is never torn apart: what finds neither room nor a way to overflow
            # (it is larger than the capacity, or cannot be merged) enters all the same.
            if not full or self._overflow(message) is PutResult.BLOCKED:
                waiting.append(message)
                self._accepted += 1
        return True

    def admits(self, messages: Sequence[Message]) -> bool:
        data = [message for message in messages if message.kind is not Kind.CONTROL]
        if not self._fits(self._control, len(messages) - len(data)):
            return False
        policy = self.policy.name
        if policy == "drop" or policy == "latest" or self._fits(self._data, len(data)):
            return True
        return policy == "coalesce" and self._can_merge(data)

    def take(self, lane: Lane) -> Message | None:
        waiting = self._control if lane is Lane.CONTROL else self._data
        if not waiting:
            return None
        self._taken += 1
        return waiting.popleft()

    def settle(self, message: Message) -> None:
        """Nothing to forget: the message left this edge when it was taken."""

    def depth(self, lane: Lane) -> int:
        return len(self._control if lane is Lane.CONTROL else self._data)

    def counts(self) -> EdgeCounts:
        return EdgeCounts(
            self._accepted, self._taken, self._dropped, self._replaced, self._coalesced, self._blocked
        )

    def refresh(self) -> None:
        """There is no far side."""

    def _fits(self, waiting: deque[Message], more: int) -> bool:
        return not more or not waiting or len(waiting) + more <= self.capacity

    def _overflow(self, message: Message) -> PutResult:
        """The policy's answer for a full data lane; BLOCKED leaves everything as it was."""
        data = self._data
        policy = self.policy.name
        if policy == "drop":
            self._dropped += 1
            return PutResult.DROPPED
        if policy == "latest":
            while len(data) >= self.capacity:
                data.popleft()
                self._replaced += 1
            data.append(message)
            self._accepted += 1
            return PutResult.REPLACED
        if policy == "coalesce":
            merged = self._merge(data[-1], message)
            if merged is not None:
                data[-1] = merged
                self._coalesced += 1
                return PutResult.COALESCED
        return PutResult.BLOCKED

    def _merge(self, waiting: Message, new: Message) -> Message | None:
        """None: they cannot be merged, and nothing has changed."""
        if waiting.kind is not new.kind or self.policy.merge is None:
            return None
        try:
            return new.derive(self.policy.merge(waiting.payload, new.payload))
        except Exception as error:
            if self._listener is None:
                logger.warning("edge %s: the merge function failed", self.id, exc_info=error)
            else:
                self._listener.failed(error)
            return None

    def _can_merge(self, messages: list[Message]) -> bool:
        """A trial run of what `put_all` would do. There is at least one message waiting."""
        free = max(0, self.capacity - len(self._data))
        newest = messages[free - 1] if free else self._data[-1]
        for message in messages[free:]:
            merged = self._merge(newest, message)
            if merged is None:
                return False
            newest = merged
        return True


class LockedEdge(MemoryEdge):
    """The edge through which other threads reach a port. It can be closed for good."""

    def __init__(self, id: str, capacity: int = DEFAULT_CAPACITY, policy: Policy = BLOCK) -> None:
        super().__init__(id, capacity, policy)
        # Re-entrant, because a merge function is foreign code and may inject.
        self._lock = threading.RLock()
        self._closed = False

    def close(self) -> None:
        """Whatever was accepted before is seen by the drain; whatever comes later is refused aloud."""
        with self._lock:
            self._closed = True

    def put(self, message: Message) -> PutResult:
        with self._lock:
            if self._closed:
                raise NotAccepting(self.id)
            result = super().put(message)
        if self._listener is not None and result is not PutResult.BLOCKED:
            self._listener.changed()
        return result

    def put_all(self, messages: Sequence[Message]) -> bool:
        with self._lock:
            if self._closed:
                raise NotAccepting(self.id)
            taken = super().put_all(messages)
        if self._listener is not None and taken:
            self._listener.changed()
        return taken

    def take(self, lane: Lane) -> Message | None:
        with self._lock:
            return super().take(lane)

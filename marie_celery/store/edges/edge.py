"""One end of an edge in Redis, or both.

Every answer of a script brings the state of the edge along, so `depth` and `counts` are answered from memory: from
the last answer, that is. What the other end does in between is learned by `refresh`, to which the wake lists call.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from marie_celery.flow import EdgeCounts, EdgeListener, Lane, Message, Policy, PutResult
from marie_celery.flow.edge import check_capacity
from marie_celery.store.edges.codec import decode, encode
from marie_celery.store.edges.keys import EdgeKeys
from marie_celery.store.edges.merging import merge_into

logger = logging.getLogger(__name__)

MERGE_ATTEMPTS = 10
"""The newest message can only change under a merge because the consumer made room, or another producer came."""

LANES = {Lane.CONTROL: "control", Lane.DATA: "data"}


class Hub(Protocol):
    """What an edge needs of the `RedisEdges` it belongs to."""

    namespace: str
    lease_ms: int

    def call(self, script: str, *arguments: object) -> Any: ...

    def listen(self) -> None: ...


class State(NamedTuple):
    """The edge as the last answer showed it."""

    capacity: int
    control: int
    data: int
    counts: EdgeCounts


class RedisEdge:
    """Used by one thread at a time; `set_capacity`, `depth` and `counts` may come from others."""

    def __init__(self, hub: Hub, id: str, name: str, capacity: int, policy: Policy) -> None:
        check_capacity(id, capacity)
        self.id = id
        self.policy = policy
        self.name = name
        """Tells this end from all others, of this and other processes."""
        self.keys = EdgeKeys(hub.namespace, id)
        self.takes = self.sends = True
        self._hub = hub
        self._declared = capacity
        self._held: dict[int, tuple[Message, str]] = {}
        self._settling: list[Message] = []
        self._listener: EdgeListener | None = None
        self._put_numbers = itertools.count(1)
        self._unsure: tuple[Sequence[Message], str] = ((), "")
        self._state = _state(hub.call("edge_open", id, capacity, policy.name))

    @property
    def capacity(self) -> int:
        return self._state.capacity

    def set_capacity(self, capacity: int) -> None:
        """For both ends, until one of them starts again with what its code says."""
        check_capacity(self.id, capacity)
        self._declared = capacity
        self._hub.call("edge_open", self.id, capacity, "")
        # The depths of that answer may be older by now than those that the loop's thread knows.
        self._state = self._state._replace(capacity=capacity)

    def attach(self, listener: EdgeListener, *, sends: bool = True, takes: bool = True) -> None:
        self._listener = listener
        self.sends, self.takes = sends, takes

    def check(self, message: Message) -> None:
        encode(message)

    def put(self, message: Message) -> PutResult:
        return self._offer([message], commits=True)

    def put_all(self, messages: Sequence[Message]) -> bool:
        return self._offer(messages, commits=True) is not PutResult.BLOCKED

    def admits(self, messages: Sequence[Message]) -> bool:
        return self._offer(messages, commits=False) is not PutResult.BLOCKED

    def take(self, lane: Lane) -> Message | None:
        known = [number for _, number in self._held.values()]
        _, more = self._call("edge_take", self.name, self._hub.lease_ms, LANES[lane], *known)
        if not more:
            return None
        number, message = _split(more[0])
        self._held[id(message)] = message, number
        return message

    def settle(self, message: Message) -> None:
        # If this fails the runtime goes on, and the next look makes up for it.
        self._settling.append(message)
        self._settle_all()

    def depth(self, lane: Lane) -> int:
        return self._state.control if lane is Lane.CONTROL else self._state.data

    def counts(self) -> EdgeCounts:
        """Of both ends, since the keys of the edge were made."""
        return self._state.counts

    def refresh(self) -> None:
        self._hub.listen()
        self._settle_all()
        self._call("edge_look", self.name if self.takes else "", self._hub.lease_ms, 0)

    def renew(self) -> None:
        """The consumer lives. From any thread; leaves what this end knows alone."""
        self._hub.call("edge_look", self.id, self.name, self._hub.lease_ms, 0)

    def leave(self) -> None:
        """The consumer goes; what it has not settled is handed out again at once."""
        self._settle_all()
        self._call("edge_leave", self.name)
        self._held.clear()
        self._settling.clear()

    def heard(self) -> None:
        """The far end did something. From any thread."""
        if self._listener is not None:
            self._listener.changed()

    def failed(self, error: Exception) -> None:
        if self._listener is None:
            logger.warning("edge %s failed", self.id, exc_info=error)
        else:
            self._listener.failed(error)

    def _settle_all(self) -> None:
        while self._settling:
            message = self._settling[0]
            _, number = self._held[id(message)]
            result, _ = self._call("edge_settle", self.name, number)
            del self._settling[0], self._held[id(message)]
            if result == "late":
                logger.warning("edge %s: the lease had ended; message %s may come twice", self.id, number)

    def _offer(self, messages: Sequence[Message], *, commits: bool) -> PutResult:
        bodies = [part for message in messages for part in (LANES[message.lane], encode(message))]
        token = self._token(messages) if commits else ""
        merges = self.policy.name == "coalesce"
        for _ in range(MERGE_ATTEMPTS):
            last_word = int(not merges)
            result, _ = self._call("edge_put", self.policy.name, token, int(commits), last_word, *bodies)
            if merges and result == "blocked":
                result = self._offer_merged(messages, token, commits)
            if result != "changed":
                self._unsure = (), ""
                return PutResult(result)
        return PutResult.BLOCKED

    def _offer_merged(self, messages: Sequence[Message], token: str, commits: bool) -> str:
        _, more = self._call("edge_look", "", 0, 1)
        newest, mark = (_split(more[0])[1], more[1]) if more else (None, "")
        merged = merge_into(self._state.data, self._state.capacity, newest, messages, self._merge)
        outcome: list[object] = ["", ""]
        if merged is not None:
            outcome = [merged.count, "" if merged.newest is None else encode(merged.newest)]
            outcome += [part for one in merged.appended for part in (LANES[one.lane], encode(one))]
        result, _ = self._call("edge_merge", token, mark, int(commits), *outcome)
        return result

    def _merge(self, waiting: Message, new: Message) -> Message | None:
        if waiting.kind is not new.kind or self.policy.merge is None:
            return None
        try:
            merged = new.derive(self.policy.merge(waiting.payload, new.payload))
            encode(merged)
        except Exception as error:
            self.failed(error)
            return None
        return merged

    def _token(self, messages: Sequence[Message]) -> str:
        """A new one, unless it is the very put of which nobody knows whether it happened."""
        unsure, token = self._unsure
        if len(unsure) != len(messages) or any(a is not b for a, b in zip(unsure, messages, strict=True)):
            token = f"{self.name}.{next(self._put_numbers)}"
            self._unsure = tuple(messages), token
        return token

    def _call(self, script: str, *arguments: object) -> tuple[str, list[str]]:
        answer = self._hub.call(script, self.id, *arguments)
        if not answer[1]:
            # Somebody removed the keys of the edge under our feet.
            self._hub.call("edge_open", self.id, self._declared, self.policy.name)
            answer = self._hub.call(script, self.id, *arguments)
        self._state = _state(answer)
        return answer[0], answer[5]


def _state(answer: Sequence[Any]) -> State:
    return State(answer[1], answer[2], answer[3], EdgeCounts(*answer[4]))


def _split(entry: str) -> tuple[str, Message]:
    _, number, body = entry.split(" ", 2)
    return number, decode(body)

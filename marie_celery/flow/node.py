"""A unit of work: callbacks, ports, and what to do when a callback raises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from marie_celery.flow.errors import EmitRefused
from marie_celery.flow.message import NO_HEADERS, Kind, Message
from marie_celery.flow.port import Port


@dataclass(frozen=True, slots=True)
class ErrorPolicy:
    """What follows when `on_message` raises. Either way the outputs of that call are discarded.

    skip    report the error, send the message to the port `errors` if there is one, go on
    retry   call again, up to `retries` times, `delay_ms` apart; then do as `then` says
    stop    end the run: `Scheduler.run` raises NodeFailed

    The other callbacks are not repeated: a tick comes again by itself, and on_start and on_stop are called
    exactly once. For them `retry` is the same as its `then`.
    """

    action: Literal["skip", "retry", "stop"]
    retries: int = 0
    delay_ms: float = 0.0
    then: Literal["skip", "stop"] = "skip"

    @property
    def stops(self) -> bool:
        return self.action == "stop" or (self.action == "retry" and self.then == "stop")


SKIP = ErrorPolicy("skip")
STOP = ErrorPolicy("stop")


def retry(retries: int, *, delay_ms: float = 0.0, then: Literal["skip", "stop"] = "skip") -> ErrorPolicy:
    if retries < 1 or delay_ms < 0:
        raise ValueError(f"retries must be at least 1 and delay_ms at least 0, not {retries} and {delay_ms}")
    return ErrorPolicy("retry", retries, delay_ms, then)


class Outlet(Protocol):
    """What the runtime lends a node, for the time of a callback, to emit with."""

    def stage(self, port: str, message: Message) -> None: ...

    def room(self, port: str) -> int: ...

    @property
    def trace_id(self) -> str | None: ...


class Node:
    """Derive from it, declare the ports, override the callbacks.

    The class attributes are defaults; the constructor overrides them for one instance. All callbacks of a
    scheduler run in one thread, one at a time.
    """

    inputs: Iterable[Port] = ()
    outputs: Iterable[Port] = ()
    tick_interval_ms: float | None = None
    error_policy: ErrorPolicy = SKIP
    priority_override: int | None = None
    """Lifts the node to at least this priority whenever it has work. Prefer priorities on edges."""

    def __init__(
        self,
        name: str,
        *,
        inputs: Iterable[Port] | None = None,
        outputs: Iterable[Port] | None = None,
        tick_interval_ms: float | None = None,
        error_policy: ErrorPolicy | None = None,
        priority_override: int | None = None,
    ) -> None:
        self.name = name
        self.inputs = tuple(type(self).inputs if inputs is None else inputs)
        self.outputs = tuple(type(self).outputs if outputs is None else outputs)
        if tick_interval_ms is not None:
            self.tick_interval_ms = tick_interval_ms
        if error_policy is not None:
            self.error_policy = error_policy
        if priority_override is not None:
            self.priority_override = priority_override
        self._outlet: Outlet | None = None

    def on_start(self) -> None:
        """Once, before the first message; producers before their consumers."""

    def on_message(self, port: str, message: Message) -> None:
        """One message from an input port. What it emits is delivered as a whole, or waits as a whole."""

    def on_tick(self) -> None:
        """At the node's cadence. A node that does not override this is never woken for it."""

    def on_stop(self) -> None:
        """Once, after the last message; consumers before their producers, so there is nobody to emit to."""

    def emit(
        self, port: str, payload: Any, *, kind: Kind = Kind.DATA, headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        """Sends a payload (or a ready-made Message) from an output port when the callback returns.

        A payload gets the trace id of the message that is being handled. If an edge has no room, the node is
        parked with all that it emitted until there is; it never has to emit twice.
        """
        outlet = self._outlet
        if outlet is None:
            raise EmitRefused(self.name)
        if isinstance(payload, Message):
            outlet.stage(port, payload)
            return
        trace_id = outlet.trace_id
        if trace_id is None:
            outlet.stage(port, Message(payload, kind, headers))
        else:
            outlet.stage(port, Message(payload, kind, headers, trace_id))

    def room(self, port: str) -> int:
        """How many more data messages this callback can emit there before an edge is full."""
        if self._outlet is None:
            raise EmitRefused(self.name)
        return self._outlet.room(port)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

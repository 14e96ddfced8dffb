"""What travels along edges."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Kind(Enum):
    DATA = "data"
    CONTROL = "control"
    ERROR = "error"


class Lane(Enum):
    """Control messages have a lane of their own on every edge, so data can neither delay nor evict them."""

    CONTROL = 0
    DATA = 1


def new_trace_id() -> str:
    """16 random bytes in hex, the form that W3C trace context wants; unique also after a fork."""
    return os.urandom(16).hex()


@dataclass(frozen=True, slots=True)
class Message:
    """Immutable, because one emit may hand the same message to several consumers."""

    payload: Any
    kind: Kind = Kind.DATA
    headers: Mapping[str, str] = field(default_factory=lambda: NO_HEADERS)
    trace_id: str = field(default_factory=new_trace_id)

    def __post_init__(self) -> None:
        if self.headers is not NO_HEADERS:
            object.__setattr__(self, "headers", MappingProxyType(dict(self.headers)))

    @property
    def lane(self) -> Lane:
        return Lane.CONTROL if self.kind is Kind.CONTROL else Lane.DATA

    def derive(self, payload: Any) -> Message:
        """The same message with another payload: kind, headers and trace id stay."""
        return Message(payload, self.kind, self.headers, self.trace_id)


@dataclass(frozen=True, slots=True)
class Failure:
    """Payload of an error message: which message a node could not handle, and why."""

    node: str
    port: str
    message: Message
    error: Exception

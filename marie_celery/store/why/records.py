"""The answer to `why`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Because(StrEnum):
    """Codes of reasons, for programs."""

    STAGED = "staged"
    CANCELLING = "cancelling"
    NO_SCHEDULER = "no_scheduler"
    NO_WORKER = "no_worker"
    EXECUTOR_FULL = "executor_full"
    CONCURRENCY_LIMIT = "concurrency_limit"
    DAG_LIMIT = "dag_limit"
    HIGHLANDER = "highlander"
    SHORT = "short"
    TENANT = "tenant"
    PARENTS = "parents"
    SHUT = "shut"
    LAST = "last"
    UNRELEASED = "unreleased"
    DELAYED = "delayed"
    EARLY = "early"
    HELD = "held"
    RANKED_ANEW = "ranked_anew"
    IN_LINE = "in_line"
    SENT = "sent"
    RUNNING = "running"
    EXPANDING = "expanding"
    ITEMS = "items"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Reason:
    code: Because
    text: str
    next: str
    """What would change it."""
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Why:
    id: str
    state: str
    reasons: tuple[Reason, ...]
    """What weighs most comes first."""
    name: str = ""

    @property
    def codes(self) -> list[Because]:
        return [reason.code for reason in self.reasons]

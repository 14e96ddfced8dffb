"""What can be wrong with a graph. The codes are stable; the texts are for people."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Code(StrEnum):
    EMPTY_GRAPH = "empty-graph"
    BAD_NAME = "bad-name"
    DUPLICATE_NAME = "duplicate-name"
    UNIT_USED_TWICE = "unit-used-twice"
    DUPLICATE_PORT = "duplicate-port"
    BAD_TICK_INTERVAL = "bad-tick-interval"
    BAD_ENDPOINT = "bad-endpoint"
    UNKNOWN_UNIT = "unknown-unit"
    UNKNOWN_PORT = "unknown-port"
    DUPLICATE_EDGE = "duplicate-edge"
    TYPE_MISMATCH = "type-mismatch"
    BAD_CAPACITY = "bad-capacity"
    BAD_PRIORITY = "bad-priority"
    BAD_POLICY = "bad-policy"
    BLOCK_CYCLE = "block-cycle"


@dataclass(frozen=True, slots=True)
class Problem:
    code: Code
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.code} at {self.where}: {self.text}"

"""What can be seen from outside: a snapshot of a running scheduler, and the report of a stopped one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from marie_celery.flow.bands import Band
from marie_celery.flow.edge import EdgeCounts


@dataclass(frozen=True, slots=True)
class NodeStats:
    """`seconds` is the time spent in the node's turns; `is_blocked` says that it waits for room now."""

    turns: int
    messages: int
    ticks: int
    errors: int
    skipped: int
    parked: int
    seconds: float
    longest_turn_s: float
    blocked_s: float
    is_blocked: bool


@dataclass(frozen=True, slots=True)
class EdgeStats:
    depth: int
    control_depth: int
    capacity: int
    policy: str
    priority: int
    band: Band
    counts: EdgeCounts


@dataclass(frozen=True, slots=True)
class Stats:
    """`longest_turn_s` is the worst loop latency. Inlets into which nobody ever injected are left out."""

    turns: Mapping[Band, int] = field(default_factory=dict)
    waits: int = 0
    errors: int = 0
    busy_s: float = 0.0
    longest_turn_s: float = 0.0
    nodes: Mapping[str, NodeStats] = field(default_factory=dict)
    edges: Mapping[str, EdgeStats] = field(default_factory=dict)

    @property
    def slowest_node(self) -> str | None:
        """The node that has used most time so far."""
        return max(self.nodes, key=lambda name: self.nodes[name].seconds, default=None)


@dataclass(frozen=True, slots=True)
class Report:
    """What a run left behind: messages in edges, and in the hands of nodes that could not finish them."""

    left_in_edges: Mapping[str, int]
    left_in_nodes: Mapping[str, int]
    drain_seconds: float

    @property
    def is_drained(self) -> bool:
        return not self.left_in_edges and not self.left_in_nodes

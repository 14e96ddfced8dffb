"""Reads a running engine from any thread. Numbers of one snapshot may be a message apart."""

from __future__ import annotations

from marie_celery.flow.bands import BANDS, rank_of
from marie_celery.flow.edge import EdgeCounts
from marie_celery.flow.engine import Engine
from marie_celery.flow.message import Lane
from marie_celery.flow.state import Link, NodeState
from marie_celery.flow.stats import EdgeStats, NodeStats, Stats

UNTOUCHED = EdgeCounts()


def snapshot(engine: Engine) -> Stats:
    edges = {link.id: _edge(link) for link in engine.wiring.links.values()}
    inlets = {link.id for link in engine.wiring.gates.values()}
    return Stats(
        turns=dict(zip(BANDS, engine.turns, strict=True)),
        waits=engine.waits,
        errors=engine.errors,
        busy_s=engine.busy_s,
        longest_turn_s=engine.longest_turn_s,
        nodes={name: _node(node) for name, node in engine.wiring.nodes.items()},
        edges={
            edge_id: edge
            for edge_id, edge in edges.items()
            if edge_id not in inlets or edge.counts != UNTOUCHED
        },
    )


def _node(node: NodeState) -> NodeStats:
    counters = node.counters
    return NodeStats(
        turns=counters.turns,
        messages=counters.messages,
        ticks=counters.ticks,
        errors=counters.errors,
        skipped=counters.skipped,
        parked=counters.parked,
        seconds=counters.seconds,
        longest_turn_s=counters.longest_turn_s,
        blocked_s=counters.blocked_s,
        is_blocked=bool(node.data.parked_on or node.control.parked_on),
    )


def _edge(link: Link) -> EdgeStats:
    return EdgeStats(
        depth=link.edge.depth(Lane.DATA),
        control_depth=link.edge.depth(Lane.CONTROL),
        capacity=link.edge.capacity,
        policy=link.edge.policy.name,
        priority=link.priority,
        band=BANDS[rank_of(link.priority)],
        counts=link.edge.counts(),
    )

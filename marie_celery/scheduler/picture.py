"""The graph of a running scheduler as plain data, for `doctor` and the API."""

from __future__ import annotations

from typing import Any

from marie_celery.flow import Stats


def picture(stats: Stats, uptime_s: float) -> dict[str, Any]:
    """Rates are messages per second since the start."""
    return {
        "uptime_s": round(uptime_s, 1),
        "nodes": {
            name: {
                "turns": node.turns,
                "messages": node.messages,
                "errors": node.errors,
                "seconds": round(node.seconds, 4),
                "longest_turn_ms": round(node.longest_turn_s * 1000, 2),
                "blocked": node.is_blocked,
            }
            for name, node in stats.nodes.items()
        },
        "edges": {
            edge_id: {
                "depth": edge.depth + edge.control_depth,
                "capacity": edge.capacity,
                "policy": edge.policy,
                "band": edge.band.name.lower(),
                "accepted": edge.counts.accepted,
                "rate": round(edge.counts.accepted / max(uptime_s, 1.0), 2),
            }
            for edge_id, edge in stats.edges.items()
        },
        "turns": {band.name.lower(): turns for band, turns in stats.turns.items()},
        "busy_s": round(stats.busy_s, 3),
        "waits": stats.waits,
        "errors": stats.errors,
        "longest_turn_ms": round(stats.longest_turn_s * 1000, 2),
        "slowest_node": stats.slowest_node,
    }

"""What a shutdown still has to do, and what it leaves.

All edges are drained as long as somebody is ready. When only waiting would help (for a retry, for room on a
remote edge), block edges, control messages and unfinished work are worth the wait until the time-out; what is
left on an edge that may lose messages is not. Remote edges are not drained: they outlive this process.
"""

from __future__ import annotations

from marie_celery.flow.message import Lane
from marie_celery.flow.state import Link, NodeState
from marie_celery.flow.stats import Report
from marie_celery.flow.wiring import Wiring


def owes_work(wiring: Wiring) -> bool:
    return any(_unfinished(node) for node in wiring.nodes.values()) or any(
        link.edge.depth(Lane.CONTROL) or (link.edge.policy.name == "block" and link.edge.depth(Lane.DATA))
        for link in wiring.links.values()
        if not link.remote
    )


def left_behind(wiring: Wiring, drain_seconds: float) -> Report:
    in_edges = {
        link.id: link.edge.depth(Lane.CONTROL) + link.edge.depth(Lane.DATA)
        for link in wiring.links.values()
        if not link.remote
    }
    in_nodes = {name: _unfinished(node) for name, node in wiring.nodes.items()}
    return Report(
        {edge_id: count for edge_id, count in in_edges.items() if count},
        {name: count for name, count in in_nodes.items() if count},
        drain_seconds,
    )


def detach_remote(link: Link) -> None:
    """Its consumer here hears no more of it; what it holds stays for the next process."""
    for inlet in (link.control, link.data):
        if inlet.is_listed and inlet.strand is not None:
            inlet.strand.ready[inlet.rank].remove(inlet)
            inlet.is_listed = False
        inlet.strand = None


def _unfinished(node: NodeState) -> int:
    """Outputs that nobody took, or a message that waits for its retry."""
    return sum(
        sum(map(len, strand.outbox.values())) or int(strand.delivery is not None)
        for strand in (node.control, node.data)
    )

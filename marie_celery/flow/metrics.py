"""Hooks for observers. The runtime calls none of them unless it was given an object that has them."""

from __future__ import annotations

from collections.abc import Sequence

from marie_celery.flow.bands import Band


class Metrics:
    """Override what you need. Called inside the loop, in its thread: be quick and do not raise."""

    def turn(self, node: str, band: Band, messages: int, seconds: float) -> None:
        """A node had its turn. The seconds are also the latency that this turn added to the loop."""

    def waited(self, seconds: float) -> None:
        """Nothing was ready for that long."""

    def enqueued(self, edge_id: str, messages: int, depth: int) -> None:
        """Messages were offered to an edge and it did with them what its policy says."""

    def dequeued(self, edge_id: str, depth: int) -> None:
        """A message was taken for its consumer."""

    def parked(self, node: str, edge_ids: Sequence[str]) -> None:
        """A node has to wait for room on these edges."""

    def resumed(self, node: str, blocked_seconds: float) -> None:
        """The room is there."""

    def failed(self, where: str, hook: str, error: Exception) -> None:
        """A callback, an edge or the waiter raised; `where` names the node or the edge.

        The one hook that may come from another thread: a merge function runs where the message is put.
        """

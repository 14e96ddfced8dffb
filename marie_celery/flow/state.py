"""What the runtime knows of nodes and edges while it runs. Only the loop's thread changes it.

A node works in two strands. The control strand serves control messages and edges of the control band, the
data strand everything else. Each has at most one unfinished piece of work, so a node whose data output is
blocked, or that waits to retry a message, still obeys control messages; the order of data never changes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from marie_celery.flow.bands import BANDS, CONTROL_RANK, HIGH_RANK, IDLE, NORMAL_RANK, Shares, rank_of
from marie_celery.flow.edge import Edge
from marie_celery.flow.errors import UnknownPort
from marie_celery.flow.message import Lane, Message
from marie_celery.flow.node import Node
from marie_celery.flow.port import Port
from marie_celery.flow.timers import Cadence


class Inlet:
    """One lane of a link, as its consumer sees it. Listed in a strand while messages wait in it."""

    __slots__ = ("is_listed", "lane", "link", "rank", "strand")

    def __init__(self, link: Link, lane: Lane) -> None:
        self.link = link
        self.lane = lane
        self.rank = CONTROL_RANK
        self.strand: Strand | None = None
        self.is_listed = False


class Link:
    """An edge in its place: between two nodes, of which one may live elsewhere."""

    __slots__ = (
        "contract",
        "control",
        "data",
        "edge",
        "id",
        "is_due_for_a_look",
        "is_noticed",
        "parked",
        "port",
        "priority",
        "remote",
        "source",
        "target",
    )

    def __init__(self, id: str, edge: Edge, priority: int, port: str, *, remote: bool = False) -> None:
        self.id = id
        self.edge = edge
        self.priority = priority
        self.port = port
        self.remote = remote
        self.source: NodeState | None = None
        self.target: NodeState | None = None
        self.contract: Port | None = None
        self.control = Inlet(self, Lane.CONTROL)
        self.data = Inlet(self, Lane.DATA)
        self.parked: list[Strand] = []
        self.is_noticed = False
        self.is_due_for_a_look = False

    @property
    def data_rank(self) -> int:
        """The rank of its data: its own, or that of a more urgent producer that waits for room here."""
        return min([rank_of(self.priority), *(strand.rank for strand in self.parked)])


class Delivery:
    """A message in a node's hands: not settled yet, because of a retry or a blocked output."""

    __slots__ = ("attempt", "inlet", "message")

    def __init__(self, inlet: Inlet, message: Message, attempt: int) -> None:
        self.inlet = inlet
        self.message = message
        self.attempt = attempt


class Strand:
    __slots__ = ("delivery", "is_delayed", "node", "outbox", "parked_on", "parked_since", "rank", "ready")

    def __init__(self, node: NodeState) -> None:
        self.node = node
        self.ready: tuple[deque[Inlet], ...] = tuple(deque() for _ in BANDS)
        self.rank = NORMAL_RANK
        self.outbox: dict[Link, list[Message]] = {}
        self.delivery: Delivery | None = None
        self.parked_on: Sequence[Link] = ()
        self.parked_since = 0.0
        self.is_delayed = False

    @property
    def is_open(self) -> bool:
        return not self.parked_on and not self.is_delayed

    def rank_of_work(self) -> int:
        if self.parked_on or self.is_delayed:
            return IDLE
        if self.outbox or self.delivery is not None:
            return self.rank
        for rank, inlets in enumerate(self.ready):
            if inlets:
                return rank
        return IDLE

    def next_inlet(self) -> Inlet | None:
        """Control always first; high and normal share, so that neither starves inside one node."""
        urgent, high, normal = self.ready
        if urgent:
            return urgent[0]
        if high and normal:
            return self.ready[HIGH_RANK + self.node.shares.choose((high, normal))][0]
        if high:
            return high[0]
        return normal[0] if normal else None


class NodeCounters:
    __slots__ = (
        "blocked_s",
        "errors",
        "longest_turn_s",
        "messages",
        "parked",
        "seconds",
        "skipped",
        "ticks",
        "turns",
    )

    def __init__(self) -> None:
        self.turns = self.messages = self.ticks = self.errors = self.skipped = self.parked = 0
        self.seconds = self.longest_turn_s = self.blocked_s = 0.0


class NodeState:
    """Also the outlet through which the node emits: it collects, the runtime delivers."""

    __slots__ = (
        "cadence",
        "control",
        "counters",
        "data",
        "floor",
        "name",
        "outputs",
        "queued",
        "shares",
        "staged",
        "tick_is_due",
        "trace_id",
        "unit",
    )

    def __init__(self, name: str, unit: Node, weights: Sequence[int]) -> None:
        self.name = name
        self.unit = unit
        self.control = Strand(self)
        self.data = Strand(self)
        self.shares = Shares(weights[HIGH_RANK:])
        self.outputs: dict[str, tuple[Port, list[Link]]] = {port.name: (port, []) for port in unit.outputs}
        self.staged: list[tuple[Link, Message]] = []
        self.trace_id: str | None = None
        self.queued = IDLE
        self.cadence: Cadence | None = None
        self.tick_is_due = False
        self.floor = IDLE if unit.priority_override is None else rank_of(unit.priority_override)
        self.counters = NodeCounters()

    def rank(self) -> int:
        """The band of the node is that of its most urgent work."""
        rank = self.control.rank_of_work()
        if rank == IDLE:
            rank = self.data.rank_of_work()
            if rank > NORMAL_RANK and self.tick_is_due and self.data.is_open:
                rank = NORMAL_RANK
        return rank if rank == IDLE else min(rank, self.floor)

    def stage(self, port: str, message: Message) -> None:
        output = self.outputs.get(port)
        if output is None:
            raise UnknownPort(self.name, port)
        contract, links = output
        contract.check(message)
        for link in links:
            if link.contract is not None:
                link.contract.check(message)
            if link.remote:
                link.edge.check(message)
            self.staged.append((link, message))

    def room(self, port: str) -> int:
        output = self.outputs.get(port)
        if output is None:
            raise UnknownPort(self.name, port)
        links = output[1]
        staged = [link for link, _ in self.staged]
        free = (link.edge.capacity - link.edge.depth(Lane.DATA) - staged.count(link) for link in links)
        return max(0, min(free, default=0))

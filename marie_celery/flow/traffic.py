"""Moves messages: lists what is ready, takes it, commits what was emitted, parks and resumes producers.

Commit is all or nothing. If one edge has no room the whole outbox waits in its strand, and the strand is
parked on the edges that refused. It is looked at again only when one of those edges got room, and runs again
only if all of them would take their part: nothing polls.

A parked strand lends its rank to the edges it waits for, and through their consumers onwards. So a consumer
in a low band that stands in the way of urgent work is served in the band of that work.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from marie_celery.clock import Clock
from marie_celery.flow.bands import CONTROL_RANK, ReadyQueues, rank_of
from marie_celery.flow.message import Kind, Message
from marie_celery.flow.metrics import Metrics
from marie_celery.flow.policy import PutResult
from marie_celery.flow.state import Inlet, Link, NodeState, Strand
from marie_celery.flow.timers import Timers

ReportError = Callable[[str, str, Exception], None]


class Traffic:
    def __init__(
        self,
        ready: ReadyQueues,
        timers: Timers,
        clock: Clock,
        metrics: Metrics | None,
        report: ReportError,
        backoff_s: float,
    ) -> None:
        self._ready = ready
        self._timers = timers
        self._clock = clock
        self._metrics = metrics
        self._report = report
        self._backoff_s = backoff_s
        self._roomier: dict[Link, None] = {}

    def refresh(self, node: NodeState) -> None:
        self._ready.move(node, node.rank())

    def look(self, link: Link) -> None:
        """Sees again what others may have changed: messages, room, capacity, priority."""
        self.place(link)
        try:
            for inlet in (link.control, link.data):
                if inlet.strand is not None and not inlet.is_listed and link.edge.depth(inlet.lane):
                    self._list(inlet, inlet.strand)
        except Exception as error:
            self._edge_failed(link, "depth", error)
        if link.parked:
            self._room_made(link)

    def take(self, strand: Strand, inlet: Inlet) -> Message | None:
        """The next message of an inlet that is the first of its queue."""
        link = inlet.link
        queue = strand.ready[inlet.rank]
        try:
            message = link.edge.take(inlet.lane)
            depth = link.edge.depth(inlet.lane)
        except Exception as error:
            message, depth = None, 0
            self._edge_failed(link, "take", error)
        if depth:
            queue.rotate(-1)
        else:
            queue.popleft()
            inlet.is_listed = False
        if message is not None:
            if self._metrics is not None:
                self._metrics.dequeued(link.id, depth)
            if link.parked:
                self._roomier[link] = None
        return message

    def resume_producers(self) -> None:
        """After a turn: the producers for which it made room. Once a turn is enough, none could run in it."""
        while self._roomier:
            link, _ = self._roomier.popitem()
            self._room_made(link)

    def commit(self, strand: Strand, staged: list[tuple[Link, Message]]) -> bool:
        """Delivers what a callback emitted. False: it waits in the outbox, and the strand is parked."""
        if len(staged) == 1:
            link, message = staged[0]
            try:
                taken = link.edge.put(message) is not PutResult.BLOCKED
            except Exception as error:
                taken = self._edge_failed(link, "put", error)
            if taken:
                self._arrived(link, link.control if message.kind is Kind.CONTROL else link.data, 1)
                return True
            strand.outbox = {link: [message]}
            self._park(strand, [link])
            return False
        for link, message in staged:
            strand.outbox.setdefault(link, []).append(message)
        return self.flush(strand)

    def flush(self, strand: Strand) -> bool:
        """Commits the outbox; atomic unless another process fills an edge between question and put."""
        outbox = strand.outbox
        refusing = self._refusing(outbox) if len(outbox) > 1 else []
        if not refusing:
            # Edges that can still say no come first: if one does, the edges in memory have not been touched.
            for link in sorted(outbox, key=lambda link: not link.remote):
                if not self._put_all(link, outbox[link]):
                    refusing.append(link)
                    break
                messages = outbox.pop(link)
                for inlet in (link.control, link.data):
                    count = sum(1 for message in messages if message.lane is inlet.lane)
                    if count:
                        self._arrived(link, inlet, count)
        if refusing:
            self._park(strand, refusing)
            return False
        return True

    def settle(self, inlet: Inlet, message: Message) -> None:
        try:
            inlet.link.edge.settle(message)
        except Exception as error:
            self._edge_failed(inlet.link, "settle", error)

    def place(self, link: Link) -> None:
        """Puts the data inlet into the strand and the rank where it belongs now."""
        inlet = link.data
        strand = inlet.strand
        if strand is None:
            return
        node = strand.node
        wanted = node.control if rank_of(link.priority) == CONTROL_RANK else node.data
        if wanted is not strand and strand.delivery is not None and strand.delivery.inlet is inlet:
            # The outputs of its last message have not gone out: the next message must not overtake them.
            wanted = strand
        rank = link.data_rank
        if wanted is strand and rank == inlet.rank:
            return
        if inlet.is_listed:
            strand.ready[inlet.rank].remove(inlet)
            wanted.ready[rank].append(inlet)
        inlet.strand, inlet.rank = wanted, rank
        # Unfinished work, blocked or waiting for its retry, stands in the way as much as what is in the edge.
        if rank < wanted.rank and (wanted.outbox or wanted.delivery is not None):
            wanted.rank = rank
            for further in wanted.parked_on:
                self.place(further)
        self.refresh(node)

    def _put_all(self, link: Link, messages: list[Message]) -> bool:
        try:
            return link.edge.put_all(messages)
        except Exception as error:
            return self._edge_failed(link, "put", error)

    def _refusing(self, outbox: dict[Link, list[Message]]) -> list[Link]:
        refusing = []
        for link, messages in outbox.items():
            try:
                admitted = link.edge.admits(messages)
            except Exception as error:
                admitted = self._edge_failed(link, "admits", error)
            if not admitted:
                refusing.append(link)
        return refusing

    def _edge_failed(self, link: Link, hook: str, error: Exception) -> bool:
        """An edge that raises counts as full, and is asked again after a while. Always False."""
        self._report(link.id, hook, error)
        # One look is planned at a time: each may fail again, and they must not multiply.
        if not link.is_due_for_a_look:
            link.is_due_for_a_look = True
            self._timers.at(self._clock.monotonic() + self._backoff_s, partial(self._look_again, link))
        return False

    def _look_again(self, link: Link) -> None:
        link.is_due_for_a_look = False
        self.look(link)

    def _arrived(self, link: Link, inlet: Inlet, count: int) -> None:
        if self._metrics is not None:
            self._metrics.enqueued(link.id, count, link.edge.depth(inlet.lane))
        if inlet.strand is not None and not inlet.is_listed:
            self._list(inlet, inlet.strand)

    def _list(self, inlet: Inlet, strand: Strand) -> None:
        inlet.is_listed = True
        strand.ready[inlet.rank].append(inlet)
        if inlet.rank < strand.node.queued:
            self.refresh(strand.node)

    def _park(self, strand: Strand, refusing: list[Link]) -> None:
        node = strand.node
        strand.parked_on = refusing
        strand.parked_since = self._clock.monotonic()
        node.counters.parked += 1
        if self._metrics is not None:
            self._metrics.parked(node.name, [link.id for link in refusing])
        for link in refusing:
            link.parked.append(strand)
            self.place(link)

    def _room_made(self, link: Link) -> None:
        for strand in tuple(link.parked):
            refusing = self._refusing(strand.outbox)
            for former in strand.parked_on:
                former.parked.remove(strand)
            for present in refusing:
                present.parked.append(strand)
            before, strand.parked_on = strand.parked_on, refusing
            for changed in dict.fromkeys([*before, *refusing]):
                self.place(changed)
            if not refusing:
                self._resume(strand)

    def _resume(self, strand: Strand) -> None:
        blocked = self._clock.monotonic() - strand.parked_since
        strand.node.counters.blocked_s += blocked
        if self._metrics is not None:
            self._metrics.resumed(strand.node.name, blocked)
        self.refresh(strand.node)

"""Priority bands and who is next.

Every band has a balance. At each turn every band with work earns its weight; the one with the largest balance
is served and pays what was earned in total. Bands that always have work so share the turns exactly by weight,
in the smoothest order: 4:2:1 gives control, high, control, normal, control, high, control.

Two rules bound what an unlucky pattern of idle and busy bands can do. Balances are cut at the sum of the
weights, so no band can save up or owe more than one round. And control, as long as it has at least half of
the weight, is never passed over twice running: a control message waits for one foreign turn at most.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

from marie_celery.flow.errors import BadSetting

if TYPE_CHECKING:
    from marie_celery.flow.state import NodeState

LOWEST_PRIORITY, HIGHEST_PRIORITY = 0, 100


class Band(IntEnum):
    """The value is the lowest priority that belongs to the band, so a band can be given as a priority."""

    CONTROL = 100
    HIGH = 50
    NORMAL = 0


BANDS = tuple(Band)
"""By rank: the most urgent band has rank 0."""

CONTROL_RANK, HIGH_RANK, NORMAL_RANK = range(len(BANDS))
IDLE = len(BANDS)
"""The rank of a node without work."""


def rank_of(priority: int) -> int:
    if priority >= Band.CONTROL:
        return CONTROL_RANK
    return HIGH_RANK if priority >= Band.HIGH else NORMAL_RANK


def check_priority(edge_id: str, priority: object) -> None:
    if (
        not isinstance(priority, int)
        or isinstance(priority, bool)
        or not LOWEST_PRIORITY <= priority <= HIGHEST_PRIORITY
    ):
        rule = f"must be an integer from {LOWEST_PRIORITY} to {HIGHEST_PRIORITY}"
        raise BadSetting(edge_id, "priority", priority, rule)


def weights_of(fairness_ratio: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(fairness_ratio[band.name.lower()] for band in BANDS)


class Shares:
    """Shares turns among ranks by weight; see the module's text."""

    def __init__(self, weights: Sequence[int]) -> None:
        self._weights = tuple(weights)
        self._total = sum(weights)
        self._balances = [0] * len(self._weights)
        self._first_may_insist = 2 * self._weights[0] >= self._total
        self._first_was_passed_over = False

    def choose(self, has_work: Sequence[object]) -> int:
        """The rank to serve; at least one of them has work."""
        balances = self._balances
        earned = 0
        best = -1
        for rank, weight in enumerate(self._weights):
            if has_work[rank]:
                earned += weight
                balances[rank] += weight
                if best < 0 or balances[rank] > balances[best]:
                    best = rank
        if best:
            if has_work[0] and self._first_was_passed_over and self._first_may_insist:
                best = 0
            self._first_was_passed_over = best != 0 and bool(has_work[0])
        else:
            self._first_was_passed_over = False
        balances[best] -= earned
        total = self._total
        for rank, balance in enumerate(balances):
            if not -total <= balance <= total:
                balances[rank] = total if balance > 0 else -total
        return best


class ReadyQueues:
    """The nodes that have work: in one band each, served round robin inside the band."""

    def __init__(self, weights: Sequence[int]) -> None:
        self._queues: tuple[OrderedDict[NodeState, None], ...] = tuple(OrderedDict() for _ in BANDS)
        self._shares = Shares(weights)

    @property
    def control_is_waiting(self) -> bool:
        return bool(self._queues[CONTROL_RANK])

    def move(self, node: NodeState, rank: int) -> None:
        """To the end of its new band; a node that stays in its band keeps its place."""
        if node.queued == rank:
            return
        if node.queued != IDLE:
            del self._queues[node.queued][node]
        if rank != IDLE:
            self._queues[rank][node] = None
        node.queued = rank

    def pop(self) -> tuple[NodeState, int] | None:
        """The next node and the rank in which it is served."""
        if not any(self._queues):
            return None
        rank = self._shares.choose(self._queues)
        node, _ = self._queues[rank].popitem(last=False)
        node.queued = IDLE
        return node, rank

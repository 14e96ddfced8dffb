"""Fair shares for tenants: who is next, when several share an executor.

Each tenant has a virtual time: the slot time that its jobs have had, divided by its weight. The one whose time is
lowest is next, and within a tenant the planner decides. So with weights 3 and 1 the slot time goes 3 to 1 as long as
both have work, and an idle tenant's share goes to the others. While a job is at work its estimate counts; when it has
ended, what it really took. `store/lua/include/tenants.lua` does the same sums.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

GUESSED_MS = 1000
"""What a job without an estimate counts."""
THOUSAND = 1000

TENANT_NAME = r"^[A-Za-z0-9_][A-Za-z0-9_.:/-]*$"

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Lane(Generic[Item]):
    """The jobs of one tenant in their order."""

    tenant: str
    virtual_ms: float
    weight: int
    """In thousandths."""
    jobs: Iterable[Item]


def take_turns(lanes: Sequence[Lane[Item]], cost_ms: Callable[[Item], int | None]) -> Iterator[Item]:
    """The jobs of all lanes in the order in which they would be chosen."""
    open_lanes = {lane.tenant: (lane.weight, iter(lane.jobs)) for lane in lanes}
    line = [(lane.virtual_ms, lane.tenant) for lane in lanes]
    heapq.heapify(line)
    while line:
        virtual_ms, tenant = heapq.heappop(line)
        weight, jobs = open_lanes[tenant]
        job = next(jobs, None)
        if job is None:
            continue
        yield job
        cost = cost_ms(job)
        heapq.heappush(line, (virtual_ms + (GUESSED_MS if cost is None else cost) * THOUSAND / weight, tenant))

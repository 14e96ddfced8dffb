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


@dataclass(frozen=True, slots=True)
class TenantState:
    """A tenant with jobs on offer or at work for an executor; '' are those who name none."""

    tenant: str
    weight: int
    """In thousandths."""
    virtual_ms: int
    waiting: int
    at_work: int


@dataclass(frozen=True, slots=True)
class TenantShare:
    executor: str
    tenant: str
    weight: float
    share: float
    """Of the executor's slot time, 0–1, as long as the same tenants have work."""
    lag_seconds: float
    """How far its virtual time is behind that of the tenant that is ahead of all: what it is owed, by its weight."""
    waiting: int
    at_work: int


def in_thousandths(weight: float) -> int:
    return round(weight * THOUSAND)


def shares_of(executor: str, tenants: Sequence[TenantState]) -> list[TenantShare]:
    """By name, those who name no tenant first."""
    weights = sum(each.weight for each in tenants)
    ahead_ms = max((each.virtual_ms for each in tenants), default=0)
    return [
        TenantShare(
            executor,
            each.tenant,
            each.weight / THOUSAND,
            each.weight / weights,
            (ahead_ms - each.virtual_ms) / 1000,
            each.waiting,
            each.at_work,
        )
        for each in sorted(tenants, key=lambda each: each.tenant)
    ]


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

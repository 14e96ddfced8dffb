"""Fair tours: which jobs of several queues start, and in which order, when they share resources.

One poll goes like this. The queues are sorted by how long their head has waited; a head that an operator holds back
counts, though it cannot start. A tour takes one job from each queue, and tours go on while any queue had room. The aims
are, in this order: fairness, wait time, throughput.

When a manager refuses a job, what happens next is the manager's policy:

    hold   the queue is done for this poll, and the manager counts as full for everybody. So what is freed gathers for
           the job that has waited longest, at the price of leaving some of it unused.
    skip   later jobs that fit may pass. A job that was passed `max_skips` times is held for, so a large job cannot
           starve behind small ones. It is passed by whoever takes from a manager that has refused it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from marie_celery.resources.booking import Answer, Manager
from marie_celery.resources.together import Bookings, Needs, book_all

MAX_SKIPS = 100


class OnShortage(StrEnum):
    HOLD = "hold"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class WaitingJob:
    id: str
    since_ms: int
    needs: Needs = field(default_factory=dict)
    is_held: bool = False
    """An operator holds it back: it waits, but cannot start."""
    skips: int = 0
    """How often it was passed in earlier polls."""


@dataclass(frozen=True, slots=True)
class Queue:
    name: str
    jobs: Sequence[WaitingJob]
    """In the order of the queue, its head first."""


@dataclass(frozen=True, slots=True)
class Start:
    tour: int
    queue: str
    job: str
    items: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Poll:
    starts: Sequence[Start]
    """In the order in which they were booked."""
    skips: Mapping[str, int]
    """Job → how often it has been passed by now, for those that were passed in this poll."""
    kept_for: Mapping[str, str]
    """Manager → the job that it is kept for."""
    retry_at_ms: int | None
    """When the next poll may do better by time alone."""


@dataclass(frozen=True, slots=True)
class FairTours:
    on_shortage: OnShortage = OnShortage.HOLD
    by_manager: Mapping[str, OnShortage] = field(default_factory=dict)
    """Managers with a policy of their own."""
    max_skips: int = MAX_SKIPS

    def poll(self, queues: Sequence[Queue], managers: Mapping[str, Manager], now_ms: int) -> Poll:
        """Pure: the managers given stay as they are."""
        return _Poll(self, queues, copy.deepcopy(dict(managers)), now_ms).run()

    def holds(self, bookings: Bookings) -> bool:
        policies = (self.by_manager.get(name, self.on_shortage) for name in bookings.refused_by)
        return OnShortage.HOLD in policies


class _Poll:
    def __init__(
        self, rules: FairTours, queues: Sequence[Queue], managers: Mapping[str, Manager], now_ms: int
    ) -> None:
        self._rules = rules
        self._managers = managers
        self._now_ms = now_ms
        waiting = [queue for queue in queues if queue.jobs]
        waiting.sort(key=lambda queue: (queue.jobs[0].since_ms, queue.name))
        self._open: dict[str, Iterator[WaitingJob]] = {
            queue.name: iter([job for job in queue.jobs if not job.is_held]) for queue in waiting
        }
        self._starts: list[Start] = []
        self._refused: dict[str, tuple[int, tuple[str, ...]]] = {}
        """Job that may be passed → how often it was before this poll, and who refused it."""
        self._skips: dict[str, int] = {}
        self._kept_for: dict[str, str] = {}
        self._retries: list[int] = []

    def run(self) -> Poll:
        tour = 0
        while self._open:
            tour += 1
            for queue in list(self._open):
                if not self._visit(tour, queue):
                    del self._open[queue]
        return Poll(self._starts, self._skips, self._kept_for, min(self._retries, default=None))

    def _visit(self, tour: int, queue: str) -> bool:
        """Start one job of the queue. False when the queue is done for this poll."""
        for job in self._open[queue]:
            bookings = book_all(self._managers, job.needs, job.id, self._now_ms, full=self._kept_for)
            if bookings.answer is Answer.BOOKED:
                self._starts.append(Start(tour, queue, job.id, bookings.items))
                self._count_passing(job)
                return True
            if bookings.retry_at_ms is not None:
                self._retries.append(bookings.retry_at_ms)
            if self._rules.holds(bookings) or job.skips >= self._rules.max_skips:
                self._keep(bookings.refused_by, job.id)
                return False
            self._refused[job.id] = (job.skips, bookings.refused_by)
        return False

    def _count_passing(self, passing: WaitingJob) -> None:
        taken = {name for name, request in passing.needs.items() if request.amount}
        for job, (before, refused_by) in self._refused.items():
            if taken.isdisjoint(refused_by):
                continue
            self._skips[job] = self._skips.get(job, before) + 1
            if self._skips[job] >= self._rules.max_skips:
                self._keep(refused_by, job)

    def _keep(self, names: Sequence[str], job: str) -> None:
        for name in names:
            self._kept_for.setdefault(name, job)

"""`GlobalScheduler`: runs coroutines and plain functions of this process, by priority within so many slots.

    async with GlobalScheduler.bounded(max_concurrency=8) as scheduler:
        urgent = scheduler.submit("high", fetch)
        later = scheduler.submit("low", partial(resize, picture))
        print(await urgent, await later)

All of its state changes in the event loop's thread, so there is nothing to race for: a submit that finds the queue
full is refused, one that does not is in it. Waiting inside a job for another job of the same scheduler keeps a slot
meanwhile; what has inputs is better written as a DAG (`dag.run_local_async(…, scheduler=scheduler)`), whose jobs ask
for a slot only when their inputs are there.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from marie_celery.clock import Clock, SystemClock
from marie_celery.config import Settings
from marie_celery.errors import ConfigError, MarieError, QueueFull
from marie_celery.local.waiting import WaitingLine
from marie_celery.model.durations import parse_duration
from marie_celery.model.priority import PRIORITIES, parse_priority

T = TypeVar("T")
Work = Callable[[], Awaitable[T] | T] | Awaitable[T]

MOST_THREADS = 256
"""For plain functions of an unbounded scheduler. More of them wait for a thread."""


@dataclass(frozen=True, slots=True)
class SchedulerStats:
    active: int
    queued: int
    submitted: int
    completed: int
    starvation_promotions: int

    def as_json(self) -> dict[str, int]:
        return {
            "activeCount": self.active,
            "queuedCount": self.queued,
            "totalSubmitted": self.submitted,
            "totalCompleted": self.completed,
            "starvationPromotions": self.starvation_promotions,
        }


class Ticket(asyncio.Future[T], Generic[T]):
    """What a submit returns: await it for the result, cancel it to give the place up."""

    def __init__(self, scheduler: GlobalScheduler, work: Work[T]) -> None:
        super().__init__()
        self.scheduler = scheduler
        self.work = work
        self.context = contextvars.copy_context()
        self.place: tuple[int, int] | None = None
        self.task: asyncio.Task[T] | None = None

    def cancel(self, msg: Any | None = None) -> bool:
        if not super().cancel(msg):
            return False
        self.scheduler._give_up(self)
        return True


class GlobalScheduler:
    def __init__(
        self,
        max_concurrency: int | None,
        max_queue_size: int = 0,
        starvation_timeout: float | str = 30.0,
        clock: Clock | None = None,
    ) -> None:
        if max_concurrency is not None and max_concurrency < 1:
            raise ConfigError(f"max_concurrency must be at least 1, not {max_concurrency}")
        if max_queue_size < 0:
            raise ConfigError(f"max_queue_size must be 0 (no limit) or more, not {max_queue_size}")
        self.max_concurrency = max_concurrency
        self.max_queue_size = max_queue_size
        self._clock = clock or SystemClock()
        self._line: WaitingLine[Ticket[Any]] = WaitingLine(_in_ms(starvation_timeout))
        self._tasks: set[asyncio.Task[Any]] = set()
        self._submitted = 0
        self._completed = 0
        self._threads: ThreadPoolExecutor | None = None
        self._room: asyncio.Event | None = None

    @classmethod
    def unbounded(cls, *, clock: Clock | None = None) -> Self:
        """Everything runs at once; priorities mean nothing."""
        return cls(None, clock=clock)

    @classmethod
    def bounded(
        cls,
        max_concurrency: int = 16,
        max_queue_size: int = 0,
        starvation_timeout: float | str = 30.0,
        *,
        clock: Clock | None = None,
    ) -> Self:
        return cls(max_concurrency, max_queue_size, starvation_timeout, clock)

    @classmethod
    def of(cls, settings: Settings, *, clock: Clock | None = None) -> Self:
        """As `scheduler_enabled` and its companions say (MARIE_SCHEDULER_… in the environment)."""
        if not settings.scheduler_enabled:
            return cls.unbounded(clock=clock)
        timeout = settings.scheduler_starvation_timeout
        return cls.bounded(settings.scheduler_max_concurrency, starvation_timeout=timeout, clock=clock)

    async def __aenter__(self) -> Self:
        if self._threads is not None:
            raise MarieError("this scheduler is open already")
        self._room = asyncio.Event()
        self._threads = ThreadPoolExecutor(self.max_concurrency or MOST_THREADS, thread_name_prefix="marie-local")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """What runs is waited for (and cancelled first if we leave by an error); what waits ends cancelled."""
        threads, self._threads = self._threads, None
        assert threads is not None
        while len(self._line):
            self._line.take(self._now_ms()).cancel()
        if kind is not None:
            for task in self._tasks:
                task.cancel()
        try:
            while self._tasks:
                await asyncio.wait(self._tasks)
        finally:
            threads.shutdown(wait=False, cancel_futures=True)

    def submit(self, priority: int | str, work: Work[T]) -> Ticket[T]:
        """A coroutine, a coroutine function or a plain function without arguments (in a thread). Raises QueueFull."""
        try:
            number = parse_priority(priority)
            if self._threads is None:
                raise MarieError("this scheduler is closed: submit inside `async with`")
            if self.is_full:
                raise QueueFull(self.max_queue_size)
        except MarieError:
            _discard(work)
            raise
        ticket = Ticket(self, work)
        self._submitted += 1
        if self._has_slot:
            self._start(ticket)
        else:
            ticket.place = self._line.put(number, ticket, self._now_ms())
        return ticket

    def submit_normal(self, work: Work[T]) -> Ticket[T]:
        return self.submit(PRIORITIES["normal"], work)

    def stats(self) -> SchedulerStats:
        return SchedulerStats(
            active=len(self._tasks),
            queued=len(self._line),
            submitted=self._submitted,
            completed=self._completed,
            starvation_promotions=self._line.promotions(self._now_ms()),
        )

    @property
    def is_full(self) -> bool:
        """Whether a submit would be refused now."""
        return 0 < self.max_queue_size <= len(self._line) and not self._has_slot

    async def room(self) -> None:
        """Returns once a submit would not be refused."""
        while self.is_full:
            assert self._room is not None
            self._room.clear()
            await self._room.wait()

    async def in_thread(self, function: Callable[[], T]) -> T:
        """Of a plain function. A thread cannot be stopped: if we are cancelled, its end is waited for all the same."""
        loop = asyncio.get_running_loop()
        thread = loop.run_in_executor(self._threads, contextvars.copy_context().run, function)
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            await asyncio.wait([thread])
            if not thread.cancelled():
                thread.exception()  # nobody is left to hear of it
            raise

    @property
    def _has_slot(self) -> bool:
        return self.max_concurrency is None or len(self._tasks) < self.max_concurrency

    def _now_ms(self) -> int:
        return round(self._clock.monotonic() * 1000)

    def _start(self, ticket: Ticket[Any]) -> None:
        work, ticket.place = ticket.work, None
        ticket.task = asyncio.get_running_loop().create_task(self._perform(work), context=ticket.context)
        self._tasks.add(ticket.task)
        ticket.task.add_done_callback(lambda task: self._ended(ticket, task))

    async def _perform(self, work: Work[Any]) -> Any:
        if inspect.iscoroutinefunction(work):
            work = work()
        if inspect.isawaitable(work):
            return await work
        assert callable(work)
        result = await self.in_thread(work)
        return await result if inspect.isawaitable(result) else result

    def _ended(self, ticket: Ticket[Any], task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        self._completed += 1
        if task.cancelled():
            ticket.cancel()
        elif ticket.done():
            task.exception()
        elif (error := task.exception()) is not None:
            ticket.set_exception(error)
        else:
            ticket.set_result(task.result())
        while self._threads is not None and len(self._line) and self._has_slot:
            self._start(self._line.take(self._now_ms()))
        self._tell_of_room()

    def _give_up(self, ticket: Ticket[Any]) -> None:
        if ticket.task is not None:
            ticket.task.cancel()
            return
        if ticket.place is not None:
            self._line.remove(ticket.place, self._now_ms())
            self._tell_of_room()
        _discard(ticket.work)

    def _tell_of_room(self) -> None:
        if self._room is not None and not self.is_full:
            self._room.set()


def _discard(work: Any) -> None:
    """A coroutine that never began would complain that nobody awaited it."""
    if inspect.iscoroutine(work):
        work.close()


def _in_ms(timeout: float | str) -> int:
    if isinstance(timeout, str):
        return parse_duration(timeout, "starvation_timeout")
    if not timeout >= 0:
        raise ConfigError(f"starvation_timeout must be 0 (no ageing) or more seconds, not {timeout!r}")
    return round(timeout * 1000)

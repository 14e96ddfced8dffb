"""Drives a run on a `GlobalScheduler`: one ticket for every ready job, each for a slot of the run.

The tickets stand in line with the priority of the run. Which of its jobs takes the slot is decided when the slot is
free, by the planner: a job that waits for its parents holds neither a slot nor a place in the queue.
"""

from __future__ import annotations

import asyncio

from marie_celery.clock import Clock, SystemClock
from marie_celery.local.conductor import Conductor
from marie_celery.local.scheduler import GlobalScheduler, Ticket


class TicketDriver:
    def __init__(self, conductor: Conductor, scheduler: GlobalScheduler, clock: Clock) -> None:
        self._conductor = conductor
        self._scheduler = scheduler
        self._clock = clock
        self._time_is_real = isinstance(clock, SystemClock)
        self._priority = int(conductor.new.fields["priority"])
        self._tickets: set[Ticket[None]] = set()
        self._unused = 0
        """Tickets that still wait for their slot."""

    async def run(self) -> None:
        """Returns when the run is over. What still runs then keeps its slot until it ends."""
        try:
            while not self._conductor.over:
                await self._ask()
                await self._wait()
        except BaseException:
            self._conductor.cancel("interrupted")
            raise
        finally:
            for ticket in self._tickets:
                ticket.cancel()

    async def _ask(self) -> None:
        self._conductor.be_on_time()
        while self._unused < self._conductor.ready:
            if self._scheduler.is_full:
                if self._tickets:
                    return
                await self._scheduler.room()
                continue
            self._unused += 1
            self._tickets.add(self._scheduler.submit(self._priority, self._use))

    async def _use(self) -> None:
        self._unused -= 1
        attempt = self._conductor.take()
        if attempt is not None:
            self._conductor.report(await self._scheduler.in_thread(attempt.run))

    async def _wait(self) -> None:
        if self._conductor.over:
            return
        seconds = self._conductor.seconds_to_next()
        if self._tickets:
            # A virtual clock stands still while something runs.
            timeout = seconds if self._time_is_real else None
            done, self._tickets = await asyncio.wait(
                self._tickets, timeout=timeout, return_when=asyncio.FIRST_COMPLETED
            )
            for ticket in done:
                ticket.result()
            return
        assert seconds is not None, "nothing can happen any more, and the run is not over"
        if self._time_is_real:
            await asyncio.sleep(seconds)
        else:
            self._clock.sleep(seconds)

from __future__ import annotations

import asyncio
import itertools

import pytest

from marie_celery.flow import Message, NodeFailed, Scheduler, SchedulerConfig
from marie_celery.flow.node import STOP
from tests.unit.flow.flow_kit import Sink, Spinner, spin

IDLE = SchedulerConfig(idle_sleep_ms=3_600_000)


class Ending(Sink):
    """Asks for the end at its n-th message."""

    def __init__(self, name: str, scheduler: Scheduler, at: int) -> None:
        super().__init__(name)
        self.scheduler = scheduler
        self.at = at

    def on_message(self, port: str, message: Message) -> None:
        super().on_message(port, message)
        if len(self.got) == self.at:
            self.scheduler.shutdown()


def test_a_run_inside_an_event_loop_lets_other_coroutines_inject_while_it_waits() -> None:
    async def main() -> None:
        scheduler = Scheduler(IDLE)
        sink = Ending("sink", scheduler, at=10)
        scheduler.register(sink)
        run = asyncio.create_task(scheduler.run_async())
        for number in range(10):
            scheduler.inject("sink", "in", number)
            await asyncio.sleep(0)
        report = await asyncio.wait_for(run, 30)
        assert report.is_drained
        assert sink.got == list(range(10))

    asyncio.run(main())


def test_a_busy_run_lets_other_coroutines_run_between_its_turns() -> None:
    async def main() -> None:
        scheduler = Scheduler(SchedulerConfig(shutdown_timeout_s=0))
        spinner = Spinner("spinner")
        scheduler.register(spinner)
        spin(scheduler, "spinner")
        run = asyncio.create_task(scheduler.run_async())
        seen = []
        for _ in range(5):
            await asyncio.sleep(0)
            seen.append(spinner.turns)
        scheduler.shutdown()
        await asyncio.wait_for(run, 30)
        # At most 32 turns of 16 messages between two looks of ours, and always some.
        steps = [after - before for before, after in itertools.pairwise(seen)]
        assert all(0 < step <= 32 * 16 for step in steps), seen

    asyncio.run(main())


def test_cancelling_stops_the_nodes_without_a_drain() -> None:
    stopped = []

    class Stopping(Sink):
        def on_stop(self) -> None:
            stopped.append(self.name)

    async def main() -> None:
        scheduler = Scheduler(IDLE)
        scheduler.register(Stopping("sink"))
        run = asyncio.create_task(scheduler.run_async())
        while not scheduler.stats().turns:
            await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert stopped == ["sink"]

    # The event loop closes in time only if the helper thread's wait of an hour was ended too.
    asyncio.run(asyncio.wait_for(main(), 30))


def test_a_stop_policy_ends_it_too() -> None:
    class Failing(Sink):
        error_policy = STOP

        def on_message(self, port: str, message: Message) -> None:
            raise ValueError(message.payload)

    scheduler = Scheduler(IDLE)
    scheduler.register(Failing("sink"))
    scheduler.inject("sink", "in", "bad")
    with pytest.raises(NodeFailed, match="bad"):
        asyncio.run(scheduler.run_async())

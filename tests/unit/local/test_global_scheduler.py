"""The in-process scheduler and its traps. Time is virtual; nothing sleeps."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from marie_celery import ConfigError, GlobalScheduler, MarieError, QueueFull
from marie_celery.clock import VirtualClock
from marie_celery.config import load_settings
from marie_celery.local.scheduler import SchedulerStats


def asynchronous(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        asyncio.run(asyncio.wait_for(test(), timeout=20))

    run.__name__ = test.__name__
    return run


async def turn() -> None:
    """Let everything that is due happen."""
    for _ in range(10):
        await asyncio.sleep(0)


class Slot:
    """Work that holds its slot until it is told to end."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.begun = False

    async def work(self) -> str:
        self.begun = True
        await self.ended.wait()
        return "done"


def noting(into: list[Any], what: Any) -> Callable[[], Coroutine[Any, Any, Any]]:
    async def work() -> Any:
        into.append(what)
        return what

    return work


@asynchronous
async def test_coroutines_coroutine_functions_and_plain_functions_give_their_results() -> None:
    async def three() -> int:
        return 3

    for made in (GlobalScheduler.unbounded(), GlobalScheduler.bounded(max_concurrency=1)):
        async with made as scheduler:
            tickets = [
                scheduler.submit("high", three()),
                scheduler.submit(0, three),
                scheduler.submit_normal(lambda: 3),
                scheduler.submit_normal(partial(int, "3")),
                scheduler.submit_normal(lambda: three()),
            ]
            assert await asyncio.gather(*tickets) == [3] * 5


@asynchronous
async def test_plain_functions_run_in_threads_with_the_variables_of_who_submitted_them() -> None:
    name = contextvars.ContextVar("name", default="nobody")
    name.set("me")
    async with GlobalScheduler.bounded(1) as scheduler:
        thread, seen = await scheduler.submit_normal(lambda: (threading.current_thread(), name.get()))
    assert thread is not threading.current_thread()
    assert seen == "me"


@asynchronous
async def test_the_highest_priority_is_next_and_equals_are_first_come_first_served() -> None:
    begun: list[Any] = []
    async with GlobalScheduler.bounded(max_concurrency=1, clock=VirtualClock()) as scheduler:
        slot = Slot()
        scheduler.submit_normal(slot.work)
        waiting = [scheduler.submit(priority, noting(begun, (priority, place)))
                   for place, priority in enumerate(["low", 100, "normal", 999, "normal", 0])]  # fmt: skip
        slot.ended.set()
        await asyncio.gather(*waiting)
    assert begun == [(999, 3), (100, 1), ("normal", 2), ("normal", 4), ("low", 0), (0, 5)]


@asynchronous
async def test_what_waits_rises_by_ten_every_sixth_of_the_timeout_and_never_becomes_critical() -> None:
    begun: list[Any] = []
    clock = VirtualClock()
    async with GlobalScheduler.bounded(max_concurrency=1, starvation_timeout="30s", clock=clock) as scheduler:
        slot = Slot()
        scheduler.submit_normal(slot.work)
        old = scheduler.submit("background", noting(begun, "old"))
        clock.advance(30)
        assert scheduler.stats().starvation_promotions == 6
        fresh = scheduler.submit("normal", noting(begun, "fresh"))
        clock.advance(3600)
        critical = scheduler.submit("critical", noting(begun, "critical"))
        slot.ended.set()
        await asyncio.gather(old, fresh, critical)
        assert begun == ["critical", "old", "fresh"]
        assert scheduler.stats().starvation_promotions == 10 + 5, "from 0 and from 50 up to 99"


@asynchronous
async def test_at_most_so_many_run_at_the_same_time() -> None:
    async with GlobalScheduler.bounded(max_concurrency=2) as scheduler:
        slots = [Slot() for _ in range(4)]
        tickets = [scheduler.submit_normal(slot.work) for slot in slots]
        await turn()
        assert [slot.begun for slot in slots] == [True, True, False, False]
        slots[1].ended.set()
        await turn()
        assert [slot.begun for slot in slots] == [True, True, True, False]
        for slot in slots:
            slot.ended.set()
        assert await asyncio.gather(*tickets) == ["done"] * 4


@asynchronous
async def test_cancelling_a_queued_job_frees_everything() -> None:
    async with GlobalScheduler.bounded(max_concurrency=1, max_queue_size=1) as scheduler:
        slot = Slot()
        running = scheduler.submit_normal(slot.work)
        never = Slot()
        queued = scheduler.submit_normal(never.work())
        queued.cancel()
        assert scheduler.stats().queued == 0
        last = scheduler.submit_normal(lambda: "room again")
        slot.ended.set()
        assert (await running, await last) == ("done", "room again")
        assert not never.begun
        assert scheduler.stats() == SchedulerStats(0, 0, 3, 2, 0)


@asynchronous
async def test_cancelling_what_awaits_a_queued_job_frees_its_place() -> None:
    async with GlobalScheduler.bounded(max_concurrency=1) as scheduler:
        slot = Slot()
        scheduler.submit_normal(slot.work)

        async def wait() -> None:
            await scheduler.submit_normal(lambda: None)

        waiter = asyncio.create_task(wait())
        await turn()
        assert scheduler.stats().queued == 1
        waiter.cancel()
        await turn()
        assert scheduler.stats().queued == 0
        slot.ended.set()


@asynchronous
async def test_a_cancelled_coroutine_is_stopped_and_a_cancelled_function_keeps_its_slot_until_it_ends() -> None:
    async with GlobalScheduler.bounded(max_concurrency=1) as scheduler:
        slot = Slot()
        running = scheduler.submit_normal(slot.work)
        await turn()
        running.cancel()
        await turn()
        assert scheduler.stats().active == 0

        go_on, is_running = threading.Event(), threading.Event()

        def stubborn() -> None:
            is_running.set()
            go_on.wait()

        thread = scheduler.submit_normal(stubborn)
        await asyncio.to_thread(is_running.wait)
        next_one = scheduler.submit_normal(lambda: "mine")
        thread.cancel()
        await turn()
        assert (scheduler.stats().active, scheduler.stats().queued) == (1, 1)
        go_on.set()
        assert await next_one == "mine"


@asynchronous
async def test_a_full_queue_is_refused_and_says_so() -> None:
    async with GlobalScheduler.bounded(max_concurrency=1, max_queue_size=2) as scheduler:
        slot = Slot()
        tickets = [scheduler.submit_normal(slot.work), *[scheduler.submit_normal(lambda: 1) for _ in range(2)]]
        with pytest.raises(QueueFull, match=r"2 already wait for a slot \(max_queue_size\)") as full:
            scheduler.submit("critical", slot.work())
        assert full.value.max_queue_size == 2
        assert scheduler.stats().submitted == 3
        slot.ended.set()
        await asyncio.gather(*tickets)


@asynchronous
async def test_of_many_who_submit_at_once_exactly_as_many_as_fit_are_taken() -> None:
    async with GlobalScheduler.bounded(max_concurrency=2, max_queue_size=5) as scheduler:
        slots: list[Slot] = []

        async def submit() -> bool:
            await asyncio.sleep(0)
            slot = Slot()
            try:
                scheduler.submit_normal(slot.work)
            except QueueFull:
                return False
            slots.append(slot)
            return True

        assert sum(await asyncio.gather(*[submit() for _ in range(50)])) == 7
        for slot in slots:
            slot.ended.set()


@asynchronous
async def test_room_is_told_as_soon_as_there_is_some() -> None:
    async with GlobalScheduler.bounded(max_concurrency=1, max_queue_size=1) as scheduler:
        slot = Slot()
        scheduler.submit_normal(slot.work)
        queued = scheduler.submit_normal(lambda: 1)
        room = asyncio.create_task(scheduler.room())
        await turn()
        assert not room.done()
        queued.cancel()
        await room
        slot.ended.set()


@asynchronous
async def test_shutdown_waits_for_what_runs_and_does_not_run_what_is_queued() -> None:
    begun: list[Any] = []
    async with GlobalScheduler.bounded(max_concurrency=1) as scheduler:
        slot = Slot()
        running = scheduler.submit_normal(slot.work)
        queued = [scheduler.submit_normal(noting(begun, 1)), scheduler.submit_normal(noting(begun, 2)())]
        await turn()
        asyncio.get_running_loop().call_soon(slot.ended.set)
    assert await running == "done"
    assert all(ticket.cancelled() for ticket in queued)
    assert (begun, scheduler.stats().active) == ([], 0)
    with pytest.raises(MarieError, match="closed"):
        scheduler.submit_normal(lambda: 1)


@asynchronous
async def test_leaving_by_an_error_cancels_what_runs() -> None:
    with pytest.raises(ZeroDivisionError):
        async with GlobalScheduler.bounded() as scheduler:
            running = scheduler.submit_normal(Slot().work)
            await turn()
            raise ZeroDivisionError
    assert running.cancelled()


@asynchronous
async def test_an_error_of_the_work_reaches_who_awaits_it_and_frees_the_slot() -> None:
    async with GlobalScheduler.bounded(max_concurrency=1) as scheduler:
        with pytest.raises(ZeroDivisionError):
            await scheduler.submit_normal(lambda: 1 // 0)
        assert await scheduler.submit_normal(lambda: "fine") == "fine"
        assert scheduler.stats().as_json() == {
            "activeCount": 0,
            "queuedCount": 0,
            "totalSubmitted": 2,
            "totalCompleted": 2,
            "starvationPromotions": 0,
        }


@asynchronous
async def test_bounded_and_unbounded_give_the_same_results() -> None:
    async def results(made: GlobalScheduler) -> list[int]:
        async with made as scheduler:
            return await asyncio.gather(*[scheduler.submit(n % 1000, partial(pow, n, 2)) for n in range(200)])

    assert await results(GlobalScheduler.unbounded()) == await results(GlobalScheduler.bounded(3)) == [
        n * n for n in range(200)
    ]


def test_bad_values_are_refused_with_what_is_wrong() -> None:
    for given, text in (
        ({"max_concurrency": 0}, "max_concurrency must be at least 1"),
        ({"max_queue_size": -1}, "max_queue_size must be 0"),
        ({"starvation_timeout": -1}, "starvation_timeout must be 0"),
        ({"starvation_timeout": "soon"}, "starvation_timeout 'soon' is no duration"),
    ):
        with pytest.raises(ConfigError, match=text):
            GlobalScheduler.bounded(**given)  # type: ignore[arg-type]


@asynchronous
async def test_a_bad_priority_is_refused_and_leaves_nothing_behind() -> None:
    async with GlobalScheduler.bounded() as scheduler:
        with pytest.raises(ConfigError, match="priority 'urgent'"):
            scheduler.submit("urgent", Slot().work())
        assert scheduler.stats().submitted == 0


@pytest.mark.parametrize(
    ("environment", "most"),
    [
        ({}, None),
        ({"MARIE_SCHEDULER_MAX_CONCURRENCY": "3"}, None),
        ({"MARIE_SCHEDULER_ENABLED": "true"}, 16),
        ({"MARIE_SCHEDULER_ENABLED": "true", "MARIE_SCHEDULER_MAX_CONCURRENCY": "3"}, 3),
    ],
)
def test_the_environment_decides_whether_it_is_bounded(environment: dict[str, str], most: int | None) -> None:
    assert GlobalScheduler.of(load_settings(environ=environment)).max_concurrency == most


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30.0), ("2m", 120.0), ("45", 45.0), ("1.5", 1.5), ("0", 0.0)])
def test_the_timeout_is_understood_with_and_without_a_unit(text: str, seconds: float) -> None:
    settings = load_settings(environ={"MARIE_SCHEDULER_STARVATION_TIMEOUT": text})
    assert settings.scheduler_starvation_timeout == seconds

"""A dag in this process: order, concurrency, time, what cannot be stopped. The rules of graphs are in conformance."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from celery import Celery

from marie_celery import (
    ConfigError,
    GlobalScheduler,
    LocalRun,
    Marie,
    RunFailed,
    RunState,
    UnknownJob,
    current_job,
    dag,
    task,
)
from marie_celery.clock import VirtualClock
from marie_celery.store.why.records import Because
from marie_celery.testing import attempts, order, reasons, states

begun: list[str] = []


@pytest.fixture(autouse=True)
def nothing_begun() -> Iterator[None]:
    begun.clear()
    yield


@task(executor="main")
def step(*after: Any) -> str:
    begun.append(current_job().name)
    return current_job().name


@task(executor="main", retry_limit=0)
def fail(*_: Any) -> None:
    raise ValueError("no luck")


@task(executor="main", retry_limit=3, retry_delay=100, retry_max_delay=300)
def fail_often() -> None:
    raise ValueError(f"attempt {current_job().attempt}")


@task(executor="main")
def meet(barrier: int) -> int:
    """Returns when all others of its kind have come."""
    return BARRIERS[barrier].wait(timeout=20)


@task(executor="main", retry_limit=0)
def leave(how: str) -> None:
    raise {"exit": SystemExit, "interrupt": KeyboardInterrupt}[how](3)


BARRIERS: dict[int, threading.Barrier] = {}


@dag
def chain(length: int) -> Any:
    x: Any = None
    for _ in range(length):
        x = step(x)
    return x


@dag
def meeting(size: int, others: int = 0) -> Any:
    return [[step() for _ in range(others)], [meet(size) for _ in range(size)]]


def test_no_app_no_server_and_no_worker_is_needed() -> None:
    run = chain.run_local(3)
    assert isinstance(run, LocalRun)
    assert (run.state, run.result()) == (RunState.COMPLETED, "step-3")
    assert [job.result for job in run.jobs()] == ["step", "step-2", "step-3"]


def test_ids_of_runs_are_of_the_cluster_s_shape_and_only_ever_grow() -> None:
    ids = [chain.run_local(1, clock=VirtualClock()).id for _ in range(3)]
    assert ids == sorted(set(ids))
    assert {len(id) for id in ids} == {13}


def test_functions_that_wait_run_side_by_side() -> None:
    BARRIERS[8] = threading.Barrier(8)
    run = meeting.run_local(8, 20)
    assert sorted(run.result()[1]) == list(range(8))


def test_the_bound_is_kept() -> None:
    BARRIERS[3] = threading.Barrier(3)
    assert meeting.run_local(3, max_concurrency=3).state is RunState.COMPLETED
    lock = threading.Lock()
    seen: list[int] = [0]

    @task(executor="main")
    def count() -> None:
        with lock:
            seen.append(seen[-1] + 1)
        BARRIERS[3].wait(timeout=20)
        with lock:
            seen.append(seen[-1] - 1)

    dag(name="counted")(lambda: [count() for _ in range(30)]).run_local(max_concurrency=3)
    assert max(seen) == 3


def test_a_job_that_waits_for_inputs_holds_no_slot() -> None:
    assert chain.run_local(200, max_concurrency=1).result() == "step-200"
    assert asyncio.run(chain.run_local_async(50, max_concurrency=1)).result() == "step-50"


def test_with_one_slot_the_planner_decides_the_order_deeper_first_then_priority() -> None:
    @dag
    def planned() -> Any:
        low = step.options(name="low", priority="low")()
        high = step.options(name="high", priority="high")()
        return [step.options(name="below low", priority=0)(low), step.options(name="normal")(), high]

    assert planned.run_local(max_concurrency=1).order() == ["high", "normal", "low", "below low"]
    assert begun == ["high", "normal", "low", "below low"]
    assert asyncio.run(planned.run_local_async(max_concurrency=1)).order() == begun[:4]


def test_the_environment_bounds_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARIE_SCHEDULER_ENABLED", "true")
    monkeypatch.setenv("MARIE_SCHEDULER_MAX_CONCURRENCY", "1")

    @dag
    def by_priority() -> Any:
        return [step.options(name=str(priority), priority=priority)() for priority in (1, 3, 2)]

    assert by_priority.run_local().order() == ["3", "2", "1"]


def test_retries_wait_as_their_policy_says_on_the_clock_that_is_given() -> None:
    clock = VirtualClock()
    run = dag(name="often")(lambda: fail_often()).run_local(clock=clock)
    assert (attempts(run), clock.monotonic()) == ({"fail_often": 4}, 100 + 200 + 300)
    clock = VirtualClock()
    asyncio.run(dag(name="often")(lambda: fail_often()).run_local_async(clock=clock))
    assert clock.monotonic() == 600


@task(executor="main")
def take_hours(number: int, *_: Any) -> int:
    CLOCKS[-1].advance(3600 * number)
    return number


CLOCKS: list[VirtualClock] = []


@pytest.mark.parametrize("policy", ["expire", "escalate"])
def test_a_missed_hard_sla_expires_what_runs_and_waits_or_nothing(policy: str) -> None:
    CLOCKS.append(VirtualClock())

    @dag(hard_sla="1h", on_hard_sla=policy)
    def slow() -> Any:
        return take_hours(3, take_hours(2, take_hours(1)))

    run = slow.run_local(clock=CLOCKS[-1])
    if policy == "escalate":
        assert run.result() == 3
    else:
        assert (run.state, set(reasons(run).values())) == (RunState.EXPIRED, {"", "hard_sla"})
        assert list(states(run).values()) == ["completed", "expired", "expired"]
        assert attempts(run) == {"take_hours": 1, "take_hours-2": 1, "take_hours-3": 0}


def test_a_job_expires_by_an_sla_of_its_own_while_others_go_on() -> None:
    CLOCKS.append(VirtualClock(datetime(2026, 1, 1, tzinfo=UTC).timestamp()))

    @dag(on_hard_sla="expire")
    def mixed() -> Any:
        first = take_hours(3)
        due = take_hours.options(name="due", hard_sla="2026-01-01T02:00:00+00:00")
        return [take_hours(1, first), due(1, first)]

    run = mixed.run_local(clock=CLOCKS[-1])
    assert states(run) == {"take_hours": "completed", "take_hours-2": "completed", "due": "expired"}


def test_what_runs_when_others_fail_fast_is_waited_for_and_does_not_count() -> None:
    is_running, may_end = threading.Event(), threading.Event()
    ended: list[str] = []

    @task(executor="main")
    def stubborn() -> str:
        is_running.set()
        may_end.wait(20)
        ended.append("stubborn")
        return "never seen"

    @task(executor="main", retry_limit=0)
    def fail_then() -> None:
        is_running.wait(20)
        threading.Timer(0.01, may_end.set).start()
        raise ValueError("no")

    run = dag(name="hasty", fail_fast=True)(lambda: [stubborn(), fail_then(), step(fail_then())]).run_local()
    assert (run.state, run.job("stubborn").state.value, run.job("stubborn").result) == ("failed", "cancelled", None)
    assert ended == ["stubborn"]


def test_a_task_that_ends_its_process_is_lost_and_in_the_end_poison() -> None:
    run = dag(name="leaving")(lambda: leave("exit")).run_local()
    assert (reasons(run), attempts(run)) == ({"leave": "poison"}, {"leave": 3})


@pytest.mark.parametrize("width", [1, 5])
def test_an_interrupt_ends_the_run_and_passes_through(width: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        dag(name="interrupted")(lambda: [leave("interrupt") for _ in range(width)]).run_local()


def test_jobs_see_the_variables_of_the_caller_in_whichever_thread_they_run() -> None:
    name = contextvars.ContextVar("name", default="nobody")
    barrier = threading.Barrier(4)

    @task(executor="main")
    def see() -> str:
        barrier.wait(20)
        return name.get()

    name.set("me")
    assert dag(name="seeing")(lambda: [see() for _ in range(4)]).run_local().result() == ["me"] * 4


def test_several_runs_and_other_work_share_the_slots_of_one_scheduler() -> None:
    async def main() -> tuple[list[LocalRun], int, int]:
        async with GlobalScheduler.bounded(max_concurrency=2, max_queue_size=1) as scheduler:
            runs = [chain.run_local_async(5, scheduler=scheduler) for _ in range(3)]
            ended = await asyncio.gather(*runs)
            return list(ended), await scheduler.submit_normal(lambda: 7), scheduler.stats().submitted

    runs, other, submitted = asyncio.run(main())
    assert [run.result() for run in runs] == ["step-5"] * 3
    assert (other, submitted) == (7, 16)


def test_a_run_that_is_cancelled_from_outside_begins_nothing_more() -> None:
    is_running, may_end = threading.Event(), threading.Event()

    @task(executor="main")
    def hold() -> None:
        is_running.set()
        may_end.wait(20)

    async def main() -> None:
        running = asyncio.create_task(dag(name="held")(lambda: step(hold())).run_local_async())
        await asyncio.to_thread(is_running.wait)
        running.cancel()
        asyncio.get_running_loop().call_later(0.01, may_end.set)
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())
    assert begun == []


def test_bad_concurrency_is_refused() -> None:
    with pytest.raises(ConfigError, match="max_concurrency must be at least 1, not 0"):
        chain.run_local(1, max_concurrency=0)
    with pytest.raises(ConfigError, match="give max_concurrency to the scheduler"):
        asyncio.run(chain.run_local_async(1, max_concurrency=1, scheduler=GlobalScheduler.unbounded()))


def test_an_ended_run_answers_as_one_of_the_cluster_does() -> None:
    run = dag(name="failing")(lambda: step(fail())).run_local()
    assert run.wait(timeout=1) is asyncio.run(run.wait_async()) is RunState.FAILED
    with pytest.raises(RunFailed, match="fail: ValueError: no luck"):
        asyncio.run(run.result_async())
    assert run.cancel() is False
    assert run.why().codes == run.why("step").codes == [Because.ENDED]
    assert (run.job("fail").worker, run.job("step").worker) == ("local", "")
    with pytest.raises(UnknownJob):
        run.job("nobody")


class TestEagerMode:
    def app(self, **conf: Any) -> Marie:
        app = Celery("eager", broker="redis://localhost:1/0")
        app.conf.update(task_always_eager=True, **conf)
        return Marie(app)

    def test_a_submit_runs_here_and_returns_a_run_that_has_ended(self) -> None:
        marie = self.app()

        @marie.task(executor="main")
        def double(x: int) -> int:
            return x * 2

        @marie.dag(labels={"by": "me"})
        def doubled(x: int) -> int:
            return double(double(x))

        run = doubled.submit(5)
        assert (run.wait(timeout=1), run.result(), order(run)) == (RunState.COMPLETED, 20, ["double", "double-2"])
        assert (run.status().done, run.status().labels) == (2, {"by": "me"})

    def test_a_failure_is_raised_where_celery_would_raise_it(self) -> None:
        def failing(marie: Marie) -> Any:
            @marie.task(executor="main", retry_limit=0, name="fail_here")
            def fail_here() -> None:
                raise ValueError("no luck")

            @marie.dag(name="failing here")
            def made() -> Any:
                return fail_here()

            return made

        assert failing(self.app()).submit().wait() is RunState.FAILED
        with pytest.raises(RunFailed, match="no luck"):
            failing(self.app(task_eager_propagates=True)).submit()

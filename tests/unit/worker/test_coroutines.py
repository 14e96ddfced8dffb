import asyncio
import signal
import threading
from collections.abc import Iterator
from contextvars import ContextVar

import pytest
from celery.exceptions import SoftTimeLimitExceeded

from marie_celery.errors import MarieError
from marie_celery.worker import coroutines


@pytest.fixture(autouse=True)
def no_loop_is_left() -> Iterator[None]:
    yield
    coroutines.close_loop()


@pytest.fixture
def time_limit() -> Iterator[None]:
    """As Celery's processes have it: a signal raises in the main thread, wherever that is."""

    def exceed(*_: object) -> None:
        raise SoftTimeLimitExceeded

    before = signal.signal(signal.SIGALRM, exceed)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


async def loop_now() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def test_a_plain_function_is_just_called():
    assert coroutines.call(max, (1, 2), {}) == 2


def test_a_coroutine_is_run_to_its_end():
    async def add(x: int, y: int) -> int:
        await asyncio.sleep(0)
        return x + y

    assert coroutines.call(add, (1,), {"y": 2}) == 3


def test_the_loop_is_kept_from_job_to_job():
    assert coroutines.run(loop_now()) is coroutines.run(loop_now())


def test_each_thread_has_a_loop_of_its_own():
    found = [coroutines.run(loop_now())]

    def elsewhere() -> None:
        found.append(coroutines.run(loop_now()))
        coroutines.close_loop()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found[0] is not found[1]


def test_the_coroutine_sees_the_variables_of_its_caller():
    name: ContextVar[str] = ContextVar("name", default="nobody")
    name.set("marie")

    async def who() -> str:
        return name.get()

    assert coroutines.run(who()) == "marie"


def test_what_a_coroutine_leaves_running_is_cancelled():
    ends = []

    async def forever() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ends.append("cancelled")

    async def leave() -> None:
        ends.append(asyncio.create_task(forever()))
        await asyncio.sleep(0)

    coroutines.run(leave())
    assert ends[1:] == ["cancelled"]


def test_a_coroutine_that_cancels_itself_fails_like_any_other():
    async def give_up() -> None:
        raise asyncio.CancelledError

    with pytest.raises(MarieError, match="was cancelled"):
        coroutines.run(give_up())


def test_inside_of_a_running_loop_it_says_what_to_do():
    async def outer() -> None:
        coroutines.run(loop_now())

    with pytest.raises(MarieError, match="await the function itself"):
        coroutines.run(outer())


@pytest.mark.usefixtures("time_limit")
def test_a_time_limit_cancels_what_waits():
    seen = []

    async def wait() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    with pytest.raises(SoftTimeLimitExceeded):
        coroutines.run(wait())
    assert seen == ["cancelled"]


@pytest.mark.usefixtures("time_limit")
def test_a_time_limit_in_a_callback_of_the_loop_is_not_lost():
    def hog() -> None:
        signal.raise_signal(signal.SIGALRM)

    async def wait() -> None:
        asyncio.get_running_loop().call_soon(hog)
        await asyncio.sleep(3600)

    with pytest.raises(SoftTimeLimitExceeded):
        coroutines.run(wait())


@pytest.mark.usefixtures("time_limit")
def test_a_coroutine_may_make_the_best_of_its_time_limit():
    async def wait() -> str:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            return "half of it"
        return "all of it"

    assert coroutines.run(wait()) == "half of it"


def test_another_thread_can_stop_it():
    running = threading.Event()

    async def wait() -> None:
        running.set()
        await asyncio.sleep(3600)

    def stop() -> None:
        running.wait()
        assert coroutines.stop("message")

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(MarieError, match="was cancelled"):
        coroutines.run(wait(), "message")
    thread.join()
    assert not coroutines.stop("message")

"""From the parent of a prefork pool to its processes, on a pool and a loop of Celery's own."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from celery import Celery
from celery.concurrency.prefork import TaskPool
from celery.concurrency.solo import TaskPool as SoloPool
from kombu.asynchronous import Hub, set_event_loop

from marie_celery.worker.handover import hand_over

PROCESSES = 2


class Worker:
    """As much of a consumer as it takes: a pool, and the loop that serves it."""

    def __init__(self) -> None:
        self.hub = Hub()
        set_event_loop(self.hub)
        app = Celery("handover", set_as_current=False)
        self.pool = TaskPool(PROCESSES, app=app, threads=False, putlocks=False, initargs=(app, "worker@here"))
        self.pool.start()
        self.pool.register_with_event_loop(self.hub)
        self.until(lambda: len(self.pool._pool._all_inqueues) == PROCESSES)

    @property
    def waiting(self) -> int:
        return len(self.pool._pool.outbound_buffer)

    def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self.hub.run_once()

    def kill(self) -> None:
        """All processes of the pool, without a word to the loop."""
        for process in self.pool._pool._pool:
            if process._is_alive():
                os.kill(process.pid, signal.SIGKILL)
                process._popen.wait()

    def close(self) -> None:
        self.kill()  # to ask them takes seconds
        self.pool.terminate()
        self.hub.close()


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()


def test_an_idle_process_is_given_what_comes_before_the_loop_turns(worker: Worker) -> None:
    pids: list[int] = []
    worker.pool.apply_async(os.getpid, callback=pids.append)
    assert worker.waiting == 1, "Celery alone leaves it to the loop"
    hand_over(worker)
    assert worker.waiting == 0
    worker.until(lambda: bool(pids))


def test_each_process_is_given_one_and_the_rest_waits_for_whoever_is_free_first(worker: Worker) -> None:
    pids: list[int] = []
    for _ in range(PROCESSES + 3):
        worker.pool.apply_async(os.getpid, callback=pids.append)
        hand_over(worker)
    assert worker.waiting == 3
    worker.until(lambda: len(pids) == PROCESSES + 3)
    assert len({*pids}) == PROCESSES


def test_what_waited_before_comes_first(worker: Worker) -> None:
    first, second = (worker.pool.apply_async(os.getpid) for _ in range(2))
    hand_over(worker)
    assert (first._write_to is not None, second._write_to is not None) == (True, False)


def test_a_message_that_is_larger_than_a_pipe_arrives_whole(worker: Worker) -> None:
    sizes: list[int] = []
    worker.pool.apply_async(len, ("x" * 2_000_000,), callback=sizes.append)
    hand_over(worker)
    worker.until(lambda: bool(sizes))
    assert sizes == [2_000_000]


def test_a_process_that_has_just_died_is_given_nothing(worker: Worker) -> None:
    worker.kill()
    worker.pool.apply_async(os.getpid)
    hand_over(worker)
    assert worker.waiting == 1


def test_other_pools_have_nothing_to_hand_over() -> None:
    hand_over(SimpleNamespace(pool=SoloPool(), hub=None))

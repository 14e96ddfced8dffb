from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import fakeredis
import pytest
from redis import ConnectionError as Gone

from marie_celery.config import Settings
from marie_celery.store.store import Store
from marie_celery.worker.progress import NOTE_LENGTH, Progress
from tests.redis.redis_runs import running


class StillClock:
    """Moves only when told to."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


class Watched(Store):
    """Notes each write that it makes."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.written: list[tuple[float, str]] = []
        self.wrote = threading.Event()
        self.away = False

    def progress(self, job: str, token: int, part: float, note: str) -> bool:
        if self.away:
            raise Gone("away")
        self.written.append((part, note))
        self.wrote.set()
        return super().progress(job, token, part, note)


@pytest.fixture
def store() -> Iterator[Watched]:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer(), decode_responses=True) as client:
        yield Watched(client, Settings())


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def progress(store: Watched, clock: StillClock) -> Iterator[Progress]:
    job, token, _ = running(store)
    with closing(Progress(store, job, token, clock)) as made:  # type: ignore[arg-type]
        yield made


def test_the_first_report_is_written_at_once(store: Watched, progress: Progress) -> None:
    progress.report(0.1, "page 1")
    assert store.written == [(0.1, "page 1")]


def test_what_comes_too_soon_is_written_later_and_only_the_newest(store: Watched, progress: Progress) -> None:
    progress.report(0.1)
    store.wrote.clear()
    progress.report(0.2)
    progress.report(0.3)
    assert store.written == [(0.1, "")]
    assert store.wrote.wait(10)
    assert store.written == [(0.1, ""), (0.3, "")]


def test_after_half_a_second_the_next_one_is_written_at_once(
    store: Watched, progress: Progress, clock: StillClock
) -> None:
    progress.report(0.1)
    clock.now += 0.5
    progress.report(0.2)
    assert store.written == [(0.1, ""), (0.2, "")]


def test_the_last_one_is_written_when_the_job_ends(store: Watched, clock: StillClock) -> None:
    job, token, _ = running(store)
    with closing(Progress(store, job, token, clock)) as progress:  # type: ignore[arg-type]
        progress.report(0.1)
        progress.report(1, "done")
    assert store.written == [(0.1, ""), (1, "done")]


def test_after_the_end_nothing_is_written(store: Watched, clock: StillClock) -> None:
    job, token, _ = running(store)
    with closing(Progress(store, job, token, clock)) as progress:  # type: ignore[arg-type]
        pass
    progress.report(0.1)
    assert store.written == []


def test_an_overtaken_attempt_stops_reporting(store: Watched, clock: StillClock) -> None:
    job, token, _ = running(store)
    with closing(Progress(store, job, token + 1, clock)) as progress:  # type: ignore[arg-type]
        progress.report(0.1)
        clock.now += 10
        progress.report(0.2)
    assert store.written == [(0.1, "")]


def test_the_task_does_not_notice_that_redis_is_away(store: Watched, progress: Progress) -> None:
    store.away = True
    progress.report(0.1)


def test_a_long_note_is_cut(store: Watched, progress: Progress) -> None:
    progress.report(0, "x" * 1000)
    assert store.written == [(0, "x" * NOTE_LENGTH)]


@pytest.mark.parametrize("part", [-0.1, 1.1, float("nan"), "half", True, None])
def test_anything_but_a_part_of_one_is_refused(progress: Progress, part: Any) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        progress.report(part)

"""`current_job()`: what a task may know about the job it runs for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from marie_celery.errors import MarieError

if TYPE_CHECKING:
    from marie_celery.worker.progress import Progress


@dataclass(frozen=True, slots=True)
class CurrentJob:
    job_id: str
    run_id: str
    dag: str
    name: str
    task: str
    executor: str
    attempt: int
    """1 for the first delivery."""
    token: int
    """Only ever grows: pass it to systems that can refuse writes with an older one."""
    worker: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    items: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Resource → the items that are this job's as long as it runs."""
    _progress: Progress | None = field(default=None, repr=False, compare=False)

    def progress(self, part: float, note: str = "") -> None:
        """Tell how far the job is, from 0 to 1, and in a few words what it does: `progress(0.4, "page 4 of 10")`.

        As often as you like: it is written twice a second at most, and the last one always.
        """
        if self._progress is not None:
            self._progress.report(part, note)


Current = Callable[[], CurrentJob]

_current: ContextVar[Current | None] = ContextVar("marie_job", default=None)


def current_job() -> CurrentJob:
    """The job that this code runs for. Raises outside of one (plain `.delay()`, direct calls)."""
    describe = _current.get()
    if describe is None:
        raise MarieError("there is no current job: this code was not started by marie_celery")
    return describe()


def become_current(describe: Current) -> Token[Current | None]:
    """Most code never asks for its job, so it is described when somebody does; `describe` gives the same one each time.

    Returns what `stop_being_current` wants.
    """
    return _current.set(describe)


def stop_being_current(token: Token[Current | None]) -> None:
    _current.reset(token)


@contextmanager
def as_current(job: CurrentJob) -> Iterator[None]:
    token = become_current(lambda: job)
    try:
        yield
    finally:
        stop_being_current(token)

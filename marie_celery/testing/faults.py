"""Failures on order: "the next two attempts of this task fail", "the process that runs it dies".

An order is a file in a folder, and who can remove it has to carry it out: so each is carried out once, in whichever
process the task runs. Tasks are wrapped in processes that know the folder; nothing in a worker asks for it otherwise.
"""

from __future__ import annotations

import functools
import itertools
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from celery import signals

from marie_celery.authoring.task import Task
from marie_celery.worker.current import current_job

FOLDER = "MARIE_TEST_FAULTS"

Deed = Literal["fail", "kill"]


class InjectedError(Exception):
    """What a task raises on order."""


class Faults:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = itertools.count()
        folder.mkdir(parents=True, exist_ok=True)

    def fail(self, task: Task[..., Any], times: int = 1, message: str = "on order") -> None:
        """The next attempts of the task raise InjectedError."""
        self._order("fail", task, times, message)

    def kill(self, task: Task[..., Any], times: int = 1) -> None:
        """The process that runs the next attempt dies. In a local run, the attempt counts as lost with it."""
        self._order("kill", task, times, "")

    def clear(self) -> None:
        for order in self.folder.iterdir():
            order.unlink()

    @property
    def left(self) -> int:
        """Orders that nobody has carried out yet."""
        return sum(1 for _ in self.folder.iterdir())

    def _order(self, deed: Deed, task: Task[..., Any], times: int, message: str) -> None:
        for _ in range(times):
            (self.folder / f"{task.name}!{next(self._numbers):06}!{deed}").write_text(message)

    @contextmanager
    def in_this_process(self, tasks: Iterable[Task[..., Any]], on_kill: Callable[[], None]) -> Iterator[None]:
        before = {task: task.function for task in tasks}
        try:
            for task in before:
                task.function = faulty(task, self.folder, on_kill)
            yield
        finally:
            for task, function in before.items():
                task.function = function


def faulty(task: Task[..., Any], folder: Path, on_kill: Callable[[], None]) -> Callable[..., Any]:
    """The task's function, which first looks for orders."""
    function = task.function

    @functools.wraps(function)
    def obedient(*args: Any, **kwargs: Any) -> Any:
        for order in sorted(folder.glob(f"{task.name}!*")):
            message = order.read_text() if order.exists() else ""
            with suppress(FileNotFoundError):  # another attempt was faster
                order.unlink()
                if order.name.endswith("!kill"):
                    on_kill()
                raise InjectedError(f"{message} (attempt {current_job().attempt})")
        return function(*args, **kwargs)

    return obedient


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def obey_in_worker(instance: Any = None, **_: Any) -> None:
    """Wraps the tasks of a worker that was told of a folder, before it makes its processes."""
    folder = Path(os.environ[FOLDER])
    for task in instance.app.tasks.values():
        if made := getattr(task, "marie", None):
            made.function = faulty(made, folder, die)


if FOLDER in os.environ:
    signals.celeryd_after_setup.connect(obey_in_worker, weak=False, dispatch_uid="marie-test-faults")

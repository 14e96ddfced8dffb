"""Tasks for the tests of guarantees. `build` makes an app that belongs to one server, so a test can have its own."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from celery import Celery

from marie_celery import Marie, current_job

PRIMARY = "primary"


class Dags:
    """An app with its tasks and dags."""

    def __init__(self, url: str) -> None:
        # Not the current app of this process: that one's shared tasks and dags would follow it here.
        self.app = Celery("guarantees", broker=url, set_as_current=False)
        self.app.conf.update(broker_connection_retry_on_startup=True, worker_hijack_root_logger=False)
        if url.startswith("sentinel://"):
            self.app.conf.broker_transport_options = {"master_name": PRIMARY}
        self.marie = marie = Marie(self.app)

        @marie.task(executor="main", name="add")
        def add(x: int, y: int = 1) -> int:
            return x + y

        @marie.task(executor="main", name="total")
        def total(xs: list[int]) -> int:
            return sum(xs)

        # Neither failures nor crashes are forgiven, so a job that ends well has used up nothing.
        @marie.task(executor="main", name="run_until", retry_limit=0, crash_limit=2, timeout_retry_limit=0)
        def run_until(marker: str) -> Any:
            """Tells by a file that it runs and in which process, and runs until the file is gone."""
            path = Path(marker)
            path.write_text(str(os.getpid()))
            while path.exists():
                time.sleep(0.02)
            return current_job().worker

        @marie.task(executor="main", name="once", retry_limit=0, crash_limit=1, timeout_retry_limit=0)
        def once(marker: str) -> str:
            """The same, for a job that may not be lost even once."""
            return run_until.function(marker)

        @marie.task(executor="main", name="die")
        def die() -> int:
            os.kill(os.getpid(), signal.SIGKILL)
            return 0

        @marie.task(executor="main", name="read", retry_limit=0)
        def read(path: str) -> int:
            return len(Path(path).read_text())

        @marie.dag(name="guarantees.single")
        def single(name: str, args: list[Any]) -> Any:
            return marie.tasks()[name](*args)

        @marie.dag(name="guarantees.layered")
        def layered(layers: int, width: int) -> int:
            x: Any = 0
            for _ in range(layers):
                x = total([add(x) for _ in range(width)])
            return x

        @marie.dag(name="guarantees.after")
        def after(name: str, args: list[Any]) -> Any:
            """A task, and one that needs its result."""
            return add(marie.tasks()[name](*args))

        self.single, self.layered, self.after = single, layered, after

    def events(self, of: str) -> list[dict[str, str]]:
        """All transitions of the jobs of a run, or of one job, in order."""
        store = self.marie.store
        return [
            fields for _, fields in store.client.xrange(store.keys.events) if fields.get("job", "").startswith(of)
        ]

    def now_ms(self) -> int:
        """The clock that the events have."""
        seconds, micros = self.marie.store.client.time()
        return int(seconds) * 1000 + int(micros) // 1000

    def offered(self) -> dict[str, int]:
        """Slots by worker."""
        return {worker: slots for view in self.marie.store.capacity() for worker, slots in view.workers.items()}


def layered_result(layers: int, width: int) -> int:
    value = 0
    for _ in range(layers):
        value = width * (value + 1)
    return value


def __getattr__(name: str) -> Any:
    """`celery -A guarantee_app` finds its app here; importing this module makes none."""
    if name == "app":
        globals()["app"] = Dags(os.environ["CELERY_BROKER_URL"]).app
        return globals()["app"]
    raise AttributeError(name)

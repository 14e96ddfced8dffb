"""A cluster of our own with the tasks of `lab_app.py`, for benchmarks that need real workers."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from marie_celery.cluster import Cluster

ROOT = Path(__file__).parents[1]
PATIENCE_SECONDS = 120.0
WORKERS = "worker-main"
TICKS = os.sysconf("SC_CLK_TCK")


class Lab(Cluster):
    app_module: ModuleType
    """`lab_app`, bound to this cluster's server."""

    def start_workers(self, processes: int = 2) -> None:
        """Returns when they work."""
        # A stock worker: `marie worker` would have its events on.
        self.start_celery(WORKERS, ["worker", "-Q", "main", "-c", str(processes), "-l", "error", "--without-gossip"])
        self.warm_up()

    def warm_up(self) -> None:
        self.app_module.flood.submit(50).result(PATIENCE_SECONDS)

    def processor_seconds(self, name: str) -> float:
        """Of the process of this name and of its children, so far."""
        pid = self.processes[name].pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return sum(processor_seconds(each) for each in (pid, *map(int, children)))


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@contextmanager
def lab(**settings: str) -> Iterator[Lab]:
    """Settings are variables such as MARIE_RELAY_SECONDS."""
    with TemporaryDirectory(prefix="marie-lab-") as logs:
        given = {"MARIE_CONFIG": "", "PYTHONPATH": str(ROOT), **settings}
        with Lab("benchmarks.lab_app", environment=given, log=Path(logs)) as made:
            # An app takes its addresses when it is made, so each lab has one of its own.
            names = ("CELERY_BROKER_URL", "MARIE_REDIS_URL", *given)
            os.environ.update({name: made.environment[name] for name in names})
            sys.modules.pop("benchmarks.lab_app", None)
            made.app_module = importlib.import_module("benchmarks.lab_app")
            yield made

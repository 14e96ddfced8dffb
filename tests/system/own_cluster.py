"""A cluster for one test file: a server that keeps its data, an app that is bound to it, nothing started yet."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from guarantee_app import Dags
from waiting import eventually

from marie_celery.cluster import Cluster
from marie_celery.embedded import EmbeddedServer

HERE = Path(__file__).parent


class OwnCluster(Cluster):
    """With the app that this process uses, and what these tests do to processes."""

    dags: Dags

    def start_ready_worker(self, name: str, slots: int = 2) -> str:
        """Returns its full name, once it offers slots."""
        self.start_celery(name, ["worker", "-c", str(slots), "-n", f"{name}@here", "-l", "info", "--without-gossip"])
        eventually(lambda: f"{name}@here" in self.dags.offered(), seconds=60)
        return f"{name}@here"

    def end(self, name: str, how: signal.Signals = signal.SIGTERM) -> int:
        process = self.processes.pop(name)
        process.send_signal(how)
        return process.wait(timeout=60)

    def children(self, name: str) -> list[int]:
        pid = self.processes[name].pid
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def end_all(self, but: str = "") -> None:
        """Frozen ones too; those that have ended are forgotten."""
        for name, process in list(self.processes.items()):
            if name == but:
                continue
            if process.poll() is None:
                self.kill(name)
            else:
                del self.processes[name]


@contextmanager
def own_cluster(directory: Path, *, lease: float = 1.5, run: float = 3.0, **environment: str) -> Iterator[OwnCluster]:
    leases = {"MARIE_LEASE_TTL_SECONDS": str(lease), "MARIE_RUN_TTL_SECONDS": str(run), "MARIE_CONFIG": ""}
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    server = EmbeddedServer(data_dir=directory / "data", extra={"appendfsync": "always"})
    given = {**leases, "PYTHONPATH": path, **environment}
    with (
        OwnCluster("guarantee_app", server=server, environment=given, log=directory / "logs") as cluster,
        pytest.MonkeyPatch.context() as patch,
    ):
        # All the time: Celery asks the environment for its broker each time that it connects.
        for name in ("CELERY_BROKER_URL", "MARIE_REDIS_URL", *leases):
            patch.setenv(name, cluster.environment[name])
        cluster.dags = Dags(cluster.environment["CELERY_BROKER_URL"])
        try:
            yield cluster
        finally:
            cluster.end_all()

"""The processes under chaos: schedulers and workers that come back, maybe with a wrong clock, when they are killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from marie_celery.cluster import Cluster
from marie_celery.embedded import EmbeddedServer

HERE = Path(__file__).parent
APP = "chaos_app"


class Member:
    """One process with its children. Named afresh with each life, as a new pod would be."""

    def __init__(self, kind: str, number: int, server: EmbeddedServer, environment: dict[str, str], log: Path) -> None:
        self.kind = kind
        self._number = number
        self._server = server
        self._environment = environment
        self._log = log
        self._lives = 0
        self._cluster: Cluster

    def start(self, skew: int) -> None:
        self._lives += 1
        self.name = f"{self.kind}-{self._number}-{self._lives}"
        environment = {**self._environment, "CHAOS_SKEW": str(skew)}
        self._cluster = Cluster(APP, server=self._server, environment=environment, log=self._log)
        if self.kind == "scheduler":
            self._cluster.start_scheduler(self.name)
        else:
            # Without -Q: a stock worker that serves all executors.
            options = ["worker", "-c", "2", "-n", f"{self.name}@chaos", "-l", "warning", "--without-gossip"]
            self._cluster.start_celery(self.name, options)

    @property
    def pid(self) -> int:
        return self._cluster.processes[self.name].pid

    @property
    def is_alive(self) -> bool:
        return self._cluster.processes[self.name].poll() is None

    def children(self) -> list[int]:
        """The processes of its pool."""
        return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def kill(self) -> None:
        self._cluster.kill(self.name)

    def freeze(self) -> None:
        os.killpg(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.killpg(self.pid, signal.SIGCONT)

    def stop(self) -> None:
        process = self._cluster.processes[self.name]
        process.terminate()

    def wait(self, seconds: float) -> None:
        self._cluster.processes[self.name].wait(seconds)

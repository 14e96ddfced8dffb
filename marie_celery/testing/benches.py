"""Where a test runs a dag: in this process, or on a cluster of the app. Both have the same verbs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from marie_celery.authoring.dag import Dag
from marie_celery.clock import SystemClock, VirtualClock
from marie_celery.cluster import Cluster
from marie_celery.extension import Marie
from marie_celery.local.run import LocalRun
from marie_celery.run import Run
from marie_celery.testing.faults import Faults

# 2026-01-01T00:00:00Z: any moment will do, as long as it is always the same.
BEGINNING = 1_767_225_600.0

LOOK_SECONDS = 1.0


class LocalBench:
    """Time stands still but for what retries wait for, and what a test or a task adds by `clock.advance`."""

    def __init__(self, faults: Faults) -> None:
        self.clock = VirtualClock(BEGINNING)
        self.faults = faults

    def run(self, dag: Dag[..., Any], *args: Any, max_concurrency: int | None = None, **kwargs: Any) -> LocalRun:
        known = (getattr(task, "marie", None) for task in dag.app.tasks.values())
        with self.faults.in_this_process([task for task in known if task is not None], on_kill=_be_lost):
            return dag.run_local(*args, max_concurrency=max_concurrency, clock=self.clock, **kwargs)


class ClusterBench:
    marie: Marie

    def __init__(self, cluster: Cluster, environment: Mapping[str, str], faults: Faults) -> None:
        self.cluster = cluster
        self.environment = environment
        """What this process has to have in its own, to talk to the cluster."""
        self.faults = faults
        self._clock = SystemClock()

    @contextmanager
    def in_environment(self) -> Iterator[None]:
        """Celery asks the environment for its broker each time that it connects."""
        before = {name: os.environ.get(name) for name in self.environment}
        os.environ.update(self.environment)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value

    def submit(self, dag: Dag[..., Any], *args: Any, **kwargs: Any) -> Run:
        return self.marie.submit(dag, *args, **kwargs)

    def run(self, dag: Dag[..., Any], *args: Any, timeout: float = 60.0, **kwargs: Any) -> Run:
        """Submit it and wait for its end."""
        run = self.submit(dag, *args, **kwargs)
        end = self._clock.monotonic() + timeout
        while True:
            try:
                run.wait(min(LOOK_SECONDS, max(0.001, end - self._clock.monotonic())))
                return run
            except TimeoutError:
                # Nobody will end it if one of its processes could not even start.
                self.cluster.check()
                if self._clock.monotonic() >= end:
                    raise


def _be_lost() -> None:
    raise SystemExit("killed on order")

"""Clusters that live as long as the test session, one per app."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from celery import Celery
from celery.app.utils import find_app

from marie_celery.cluster import Cluster
from marie_celery.extension import Marie
from marie_celery.testing.benches import ClusterBench
from marie_celery.testing.faults import FOLDER, Faults


class Clusters:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._known: dict[str, ClusterBench] = {}

    def of(self, app: str, environment: Mapping[str, str], worker_options: Sequence[str]) -> ClusterBench:
        """A server, a scheduler and a worker for all executors of the app; started when first asked for."""
        if app not in self._known:
            self._known[app] = self._start(app, environment, worker_options)
        return self._known[app]

    def stop(self) -> None:
        for bench in self._known.values():
            bench.marie.forget()
        self._stack.close()

    def _start(self, app: str, environment: Mapping[str, str], worker_options: Sequence[str]) -> ClusterBench:
        faults = Faults(self._folder / app / "faults")
        # Its processes find the modules that the tests find.
        path = os.pathsep.join([str(Path.cwd()), *filter(None, sys.path)])
        given = {"PYTHONPATH": path, **environment, FOLDER: str(faults.folder)}
        cluster = self._stack.enter_context(Cluster(app, environment=given, log=self._folder / app / "logs"))
        shared = {name: cluster.environment[name] for name in ("CELERY_BROKER_URL", "MARIE_REDIS_URL", *environment)}
        bench = ClusterBench(cluster, shared, faults)
        with bench.in_environment():
            found: Celery = find_app(app)
            found.loader.import_default_modules()
            bench.marie = Marie.of(found)
            bench.marie.forget()
            _ = bench.marie.settings  # read now, while the environment is the cluster's
        cluster.start_scheduler()
        options = ["--include", "marie_celery.testing.faults", "--loglevel", "warning", *worker_options]
        cluster.start_celery("worker", ["worker", "--hostname", "worker@%h", *options])
        return bench

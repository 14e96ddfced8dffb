"""The fixtures. Those that say something about the app are there to be replaced in your own `conftest.py`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from celery import Celery, current_app
from celery.app.utils import find_app

from marie_celery.cluster import Cluster
from marie_celery.errors import ConfigError
from marie_celery.extension import Marie
from marie_celery.testing.benches import ClusterBench, LocalBench
from marie_celery.testing.faults import FOLDER, Faults


@pytest.fixture(scope="session")
def marie_app() -> str:
    """The app under test, as for `celery -A`."""
    raise ConfigError("marie_cluster has to know your app: define a fixture marie_app that returns its name")


@pytest.fixture(scope="session")
def marie_environment() -> Mapping[str, str]:
    """Variables for the processes of the cluster, for example settings (MARIE_LEASE_TTL_SECONDS)."""
    return {}


@pytest.fixture(scope="session")
def marie_worker_options() -> Sequence[str]:
    """Options of the worker, as for `celery worker`."""
    return ("--concurrency", "2")


@pytest.fixture
def marie_local(tmp_path: Path) -> LocalBench:
    """Runs dags in this process, on a clock that stands still."""
    return LocalBench(Faults(tmp_path / "faults"))


@pytest.fixture(scope="session")
def marie_session(
    marie_app: str,
    marie_environment: Mapping[str, str],
    marie_worker_options: Sequence[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ClusterBench]:
    """A server, a scheduler and a worker for all executors, once for all tests."""
    folder = tmp_path_factory.mktemp("marie")
    faults = Faults(folder / "faults")
    # Its processes find the modules that the tests find.
    path = os.pathsep.join([str(Path.cwd()), *filter(None, sys.path)])
    environment = {"PYTHONPATH": path, **marie_environment, FOLDER: str(faults.folder)}
    with (
        Cluster(marie_app, environment=environment, log=folder / "logs") as cluster,
        pytest.MonkeyPatch.context() as patch,
    ):
        # Celery asks the environment for its broker each time that it connects, and so do we.
        for name in ("CELERY_BROKER_URL", "MARIE_REDIS_URL", *marie_environment):
            patch.setenv(name, cluster.environment[name])
        app: Celery = find_app(marie_app)
        app.loader.import_default_modules()
        marie = Marie.of(app)
        marie.forget()
        cluster.start_scheduler()
        options = ["--include", "marie_celery.testing.faults", "--loglevel", "warning", *marie_worker_options]
        cluster.start_celery("worker", ["worker", "--hostname", "worker@%h", *options])
        yield ClusterBench(cluster, marie, faults)
        marie.forget()


@pytest.fixture
def marie_cluster(marie_session: ClusterBench) -> Iterator[ClusterBench]:
    """Runs dags on a real server, scheduler and worker of your app (see `marie_app`)."""
    before: Celery = current_app._get_current_object()
    marie_session.marie.app.set_current()
    yield marie_session
    marie_session.faults.clear()
    before.set_current()

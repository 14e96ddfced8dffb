"""The fixtures. Those that say something about the app are there to be replaced in your own `conftest.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from celery import Celery, current_app

from marie_celery.errors import ConfigError
from marie_celery.testing.benches import ClusterBench, LocalBench
from marie_celery.testing.clusters import Clusters
from marie_celery.testing.faults import Faults


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
def marie_clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    clusters = Clusters(tmp_path_factory.mktemp("marie"))
    yield clusters
    clusters.stop()


@pytest.fixture
def marie_cluster(
    marie_clusters: Clusters,
    marie_app: str,
    marie_environment: Mapping[str, str],
    marie_worker_options: Sequence[str],
) -> Iterator[ClusterBench]:
    """Runs dags on a real server, scheduler and worker of your app (see `marie_app`), started once per session."""
    bench = marie_clusters.of(marie_app, marie_environment, marie_worker_options)
    before: Celery = current_app._get_current_object()
    bench.marie.app.set_current()
    with bench.in_environment():
        yield bench
    bench.faults.clear()
    before.set_current()

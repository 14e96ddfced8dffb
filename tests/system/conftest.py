"""One cluster for all system tests: its own server on a free port, a scheduler, a worker with two processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from marie_celery.cluster import Cluster

HERE = Path(__file__).parent
LEASES = {"MARIE_LEASE_TTL_SECONDS": "1.5", "MARIE_RUN_TTL_SECONDS": "3", "MARIE_CONFIG": ""}


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    sys.path.insert(0, str(HERE))
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    log = tmp_path_factory.mktemp("logs")
    with Cluster("system_app", environment={**LEASES, "PYTHONPATH": path}, log=log) as made:
        os.environ.update({key: made.environment[key] for key in ("CELERY_BROKER_URL", "MARIE_REDIS_URL", *LEASES)})
        made.start_scheduler()
        made.start_worker("main", options=["-l", "warning"])
        yield made


@pytest.fixture(scope="session")
def dags(cluster: Cluster) -> ModuleType:
    """The app's module, bound to the cluster's server."""
    import system_app

    return system_app


@pytest.fixture(autouse=True)
def the_cluster_app_is_the_current_one() -> None:
    """Other tests of this process make apps of their own, and the last one made would get our runs."""
    if "system_app" in sys.modules:
        sys.modules["system_app"].app.set_current()

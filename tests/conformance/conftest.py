"""One suite, every engine: in this process three ways, and real workers on a real server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from marie_celery import GlobalScheduler, Run
from marie_celery.authoring.dag import Dag
from marie_celery.testing import ClusterBench

HERE = Path(__file__).parent
ENGINES = ["unbounded", "one slot", "scheduler", "cluster"]

RunDag = Callable[..., Run]


def pytest_configure() -> None:
    if str(HERE) not in sys.path:
        sys.path.insert(0, str(HERE))


@pytest.fixture(scope="session")
def marie_app() -> str:
    return "conformance_app"


@pytest.fixture(scope="session")
def marie_environment() -> Mapping[str, str]:
    return {"MARIE_CONFIG": ""}


@pytest.fixture(scope="session")
def marie_worker_options() -> Sequence[str]:
    return ("--pool", "threads", "--concurrency", "8", "--without-gossip", "--without-mingle")


@pytest.fixture(scope="session")
def dags() -> ModuleType:
    import conformance_app

    return conformance_app


@pytest.fixture(params=ENGINES)
def run(request: pytest.FixtureRequest, dags: ModuleType) -> RunDag:
    """Runs a dag to its end on one of the engines."""
    if request.param == "cluster":
        bench: ClusterBench = request.getfixturevalue("marie_cluster")
        return bench.run
    dags.app.set_current()
    return LOCALLY[request.param]


def unbounded(dag: Dag[..., Any], *args: Any) -> Run:
    return dag.run_local(*args)


def one_slot(dag: Dag[..., Any], *args: Any) -> Run:
    return dag.run_local(*args, max_concurrency=1)


def on_scheduler(dag: Dag[..., Any], *args: Any) -> Run:
    async def main() -> Run:
        async with GlobalScheduler.bounded(max_concurrency=2, max_queue_size=3) as scheduler:
            return await dag.run_local_async(*args, scheduler=scheduler)

    return asyncio.run(main())


LOCALLY: dict[str, RunDag] = {"unbounded": unbounded, "one slot": one_slot, "scheduler": on_scheduler}

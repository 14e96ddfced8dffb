"""Stock workers, other pools, stock Flower."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from types import ModuleType
from typing import Any

import pytest
from waiting import eventually

from marie_celery.cluster import Cluster


@pytest.mark.parametrize("pool", ["prefork", "threads", "solo", "gevent"])
def test_every_pool_runs_jobs(cluster: Cluster, dags: ModuleType, pool: str) -> None:
    name = f"pool-{pool}"
    process = cluster.start_celery(
        name, ["worker", "-Q", "pools", "-P", pool, "-c", "2", "-n", f"{name}@%h", "-l", "warning"]
    )
    try:
        run = dags.doubled.submit(list(range(20)))
        assert run.result(timeout=60) == [number * 2 for number in range(20)]
        assert {job.worker.partition("@")[0] for job in run.jobs()} == {name}
    finally:
        process.terminate()
        process.wait(timeout=30)
        del cluster.processes[name]
    store = dags.marie.store
    eventually(lambda: not [view for view in store.capacity() if view.name == "pools" and view.workers])


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def flower_tasks(port: int) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/tasks?limit=100", timeout=5) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
    except (urllib.error.URLError, ConnectionError):
        return {}


def test_a_stock_worker_runs_our_jobs_and_stock_flower_shows_them(cluster: Cluster, dags: ModuleType) -> None:
    port = free_port()
    environment = cluster._environment
    environment["FLOWER_UNAUTHENTICATED_API"] = "true"
    flower = cluster.start_celery("flower", ["flower", f"--port={port}", "--address=127.0.0.1"])
    stock = cluster.start_celery("stock", ["worker", "-c", "1", "-E", "-n", "stock@%h", "-l", "warning"])
    try:
        eventually(lambda: any("stock" in view for view in _worker_names(dags)), seconds=60)
        eventually(lambda: _flower_sees_workers(port), seconds=60)
        run = dags.doubled.submit([21])
        assert run.result(timeout=60) == [42]
        attempt = f"{run.id}-000000.1"
        shown = eventually(lambda: _succeeded(flower_tasks(port).get(attempt)), seconds=30)
        assert shown["name"] == "system_app.double"
        assert shown["state"] == "SUCCESS"
        assert shown["args"] == "[21]"
        assert shown["root_id"] == run.id
    finally:
        for process in (stock, flower):
            process.terminate()
            process.wait(timeout=30)
        del cluster.processes["stock"], cluster.processes["flower"]


def _worker_names(dags: ModuleType) -> list[str]:
    return [worker for view in dags.marie.store.capacity() for worker in view.workers]


def _flower_sees_workers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/workers?refresh=1", timeout=10) as answer:
            return any(name.startswith("stock@") for name in json.load(answer))
    except (urllib.error.URLError, ConnectionError):
        return False


def _succeeded(task: dict[str, Any] | None) -> dict[str, Any] | None:
    return task if task and task["state"] == "SUCCESS" else None

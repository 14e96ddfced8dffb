"""`async def` tasks on real workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from waiting import eventually

from marie_celery import RunFailed, WorkState
from marie_celery.cluster import Cluster


@contextmanager
def serving(cluster: Cluster, pool: str, slots: int = 2) -> Iterator[None]:
    name = f"later-{pool}"
    arguments = ["worker", "-Q", "later", "-P", pool, "-c", str(slots), "-n", f"{name}@%h", "-l", "warning"]
    cluster.start_celery(name, arguments)
    try:
        yield
    finally:
        cluster.kill(name)


@pytest.mark.parametrize("pool", ["prefork", "threads", "solo"])
def test_coroutines_run_in_the_pool(cluster: Cluster, dags: ModuleType, pool: str) -> None:
    with serving(cluster, pool):
        found = dags.added_later.submit(list(range(20))).result(timeout=60)
    assert [each["sum"] for each in found] == list(range(1, 21))
    assert found[1]["job"] == "add_later-2"
    if pool == "solo":
        assert len({each["loop"] for each in found}) == 1


def test_a_pool_of_greenlets_refuses_to_serve_coroutines(cluster: Cluster, dags: ModuleType) -> None:
    arguments = ["worker", "-Q", "later", "-P", "gevent", "-c", "2", "-n", "greenlets@%h", "-l", "warning"]
    process = cluster.start_celery("greenlets", arguments)
    try:
        assert process.wait(timeout=60) != 0
    finally:
        del cluster.processes["greenlets"]
    assert cluster._log is not None
    log = (cluster._log / "greenlets.log").read_text()
    assert "the gevent pool cannot run the coroutine system_app.add_later: serve the executor 'later' with" in log


def test_a_soft_time_limit_reaches_the_coroutine(cluster: Cluster, dags: ModuleType, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    with serving(cluster, "prefork", slots=1), pytest.raises(RunFailed, match="SoftTimeLimitExceeded"):
        dags.waiting.submit(str(marker), 0.5).result(timeout=60)
    assert marker.read_text() == "cancelled"


@pytest.mark.parametrize("pool", ["threads", "solo"])
def test_a_cancelled_run_cancels_its_coroutine(cluster: Cluster, dags: ModuleType, tmp_path: Path, pool: str) -> None:
    marker = tmp_path / "marker"
    with serving(cluster, pool, slots=1):
        run = dags.waiting.submit(str(marker))
        eventually(marker.exists)
        run.cancel()
        eventually(lambda: marker.read_text() == "cancelled")
        # The worker is free for others.
        assert dags.added_later.submit([1]).result(timeout=60)[0]["sum"] == 2
    assert [job.state for job in run.jobs()] == [WorkState.CANCELLED]


def test_delay_of_a_coroutine_is_plain_celery(dags: ModuleType) -> None:
    assert dags.add_plainly.celery_task.apply((1,)).get() == 2

"""`marie drain` on real workers: what runs is finished, nothing more is taken, and it can be undone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from own_cluster import OwnCluster, own_cluster
from waiting import eventually


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnCluster]:
    with own_cluster(tmp_path_factory.mktemp("draining"), run=60) as made:
        made.start_scheduler()
        yield made


def takes_messages(cluster: OwnCluster, worker: str) -> bool | None:
    """None if it gives no answer yet."""
    answer = cluster.dags.app.control.inspect([worker], timeout=2).active_queues() or {}
    return any(queue["name"] == "main" for queue in answer[worker]) if worker in answer else None


def workers_of(cluster: OwnCluster, layers: int = 4) -> set[str]:
    """Those that have a part in a run of many jobs."""
    run = cluster.dags.layered.submit(layers, 10)
    run.result(timeout=60)
    return {job.worker for job in run.jobs()}


def test_a_drained_worker_finishes_what_it_has_and_takes_nothing_more(cluster: OwnCluster, tmp_path: Path) -> None:
    store, marker = cluster.dags.marie.store, tmp_path / "running"
    first = cluster.start_ready_worker("first")
    run = cluster.dags.single.submit("once", [str(marker)])
    eventually(marker.exists)
    second = cluster.start_ready_worker("second")

    store.drain(first)
    assert set(cluster.dags.offered()) == {second}
    eventually(lambda: takes_messages(cluster, first) is False, seconds=30)
    assert workers_of(cluster) == {second}
    assert [(each.name, each.jobs) for each in store.drained()] == [(first, 1)]
    marker.unlink()
    assert run.result(timeout=30) == first, "in peace, and at the first try"

    cluster.end("first")
    cluster.start_celery("first", ["worker", "-c", "2", "-n", first, "-l", "info", "--without-gossip"])
    eventually(lambda: store.client.zscore(store.keys.workers, first) is not None, seconds=60)
    eventually(lambda: takes_messages(cluster, first) is False, seconds=30)
    assert set(cluster.dags.offered()) == {second}, "it comes back as it went"

    store.take_back(first)
    eventually(lambda: set(cluster.dags.offered()) == {first, second}, seconds=30)
    eventually(lambda: takes_messages(cluster, first), seconds=30)
    eventually(lambda: first in workers_of(cluster), seconds=60)

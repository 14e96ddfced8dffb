"""A manager of the user's own on real processes: two schedulers, one of them killed, and never two ships at a berth."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from guarantee_app import layered_result
from own_cluster import OwnCluster, own_cluster
from waiting import eventually

# Every job is a ship for which there is one berth only.
BERTH = {"berth": {"kind": "own", "manager": "tests.redis.harbour:Harbour", "executors": ["main"], "consumption": 20}}


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnCluster]:
    with own_cluster(tmp_path_factory.mktemp("own"), MARIE_RESOURCES=json.dumps(BERTH)) as made:
        made.start_scheduler()
        made.start_scheduler("second")
        made.start_ready_worker("worker", slots=4)
        eventually(lambda: len(made.dags.marie.store.schedulers()) == 2, seconds=30)
        yield made


def test_one_at_a_time_whoever_decides(cluster: OwnCluster) -> None:
    store = cluster.dags.marie.store
    runs = [cluster.dags.layered.submit(2, 5) for _ in range(2)]
    eventually(lambda: runs[0].status().done >= 3, seconds=60)
    cluster.kill("second")
    assert [run.result(timeout=60) for run in runs] == [layered_result(2, 5)] * 2
    at_berth: set[str] = set()
    moves = [event for event in cluster.dags.events("") if "job" in event]
    for event in moves:
        if event["to"] == "dispatched":
            assert not at_berth, "while another lies there"
            at_berth.add(event["job"])
        elif event["from"] in ("dispatched", "active") and event["to"] != "active":
            at_berth.discard(event["job"])
    assert len([event for event in moves if event["to"] == "completed"]) == 24
    (stock,) = store.stock("berth", 10)
    assert (stock.used, stock.holders, stock.waiting) == (0, 0, 0)

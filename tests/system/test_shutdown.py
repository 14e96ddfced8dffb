"""What docs/guarantees.md promises of workers that are told to end, and of orders that reach workers late."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from guarantee_app import layered_result
from own_cluster import OwnCluster, own_cluster
from waiting import eventually

from marie_celery import RunState
from marie_celery.store.keys import attempt_id, job_id

RUN_SECONDS = 2.0


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnCluster]:
    with own_cluster(tmp_path_factory.mktemp("shutdown"), lease=1.0, run=RUN_SECONDS) as made:
        made.start_scheduler()
        yield made


@pytest.fixture
def cluster(whole: OwnCluster) -> Iterator[OwnCluster]:
    """With no worker before, and none left over."""
    yield whole
    whole.end_all(but="scheduler")
    eventually(lambda: not whole.dags.offered())


def test_a_warm_shutdown_finishes_what_runs_however_long_it_takes(cluster: OwnCluster, tmp_path: Path) -> None:
    dags, marker = cluster.dags, tmp_path / "running"
    cluster.start_ready_worker("leaving")
    run = dags.single.submit("once", [str(marker)])
    eventually(marker.exists)
    told_ms = dags.now_ms()
    cluster.processes["leaving"].send_signal(signal.SIGTERM)
    eventually(lambda: not dags.offered(), seconds=5)
    assert dags.now_ms() - told_ms < 1_000, "its capacity goes at once, not with its lease"
    # Twice as long as the lease: it must have been renewed on the way.
    eventually(lambda: dags.now_ms() > told_ms + 2_000 * RUN_SECONDS)
    marker.unlink()
    assert run.result(timeout=10) == "leaving@here"
    assert [job.attempt for job in run.jobs()] == [1]
    assert cluster.processes["leaving"].wait(timeout=30) == 0


def test_a_cold_shutdown_hands_back_what_runs_at_no_cost_to_it(cluster: OwnCluster, tmp_path: Path) -> None:
    dags, marker = cluster.dags, tmp_path / "running"
    cluster.start_ready_worker("leaving")
    run = dags.single.submit("once", [str(marker)])
    eventually(lambda: marker.exists() and marker.read_text())
    first = marker.read_text()
    told_ms = dags.now_ms()
    cluster.end("leaving", signal.SIGQUIT)
    cluster.start_ready_worker("staying")
    eventually(lambda: (marker.read_text() or first) != first)
    marker.unlink()
    assert run.result(timeout=10) == "staying@here"
    (handed_back,) = [event for event in dags.events(run.id) if event.get("why") == "handed_back"]
    assert int(handed_back["at"]) - told_ms < 1_000 * RUN_SECONDS
    store = dags.marie.store
    assert store.client.hmget(store.keys.job(job_id(run.id, 0)), ["failures", "crashes", "timeouts"]) == [None] * 3


def test_scaling_down_under_load_loses_nothing_and_does_nothing_twice(cluster: OwnCluster) -> None:
    dags = cluster.dags
    names = ("one", "two", "three")
    for name in names:
        cluster.start_ready_worker(name)
    runs = [dags.layered.submit(5, 20) for _ in range(3)]
    for number, name in enumerate(names[:2]):
        reached = 30 * (number + 1)
        eventually(lambda reached=reached: runs[0].status().done >= reached, seconds=60)  # type: ignore[misc]
        assert cluster.end(name) == 0
    assert [run.result(timeout=60) for run in runs] == [layered_result(5, 20)] * 3
    completed = [event for run in runs for event in dags.events(run.id) if event["to"] == "completed"]
    assert len(completed) == 3 * 5 * 21
    assert not [event for run in runs for event in dags.events(run.id) if event.get("why") in ("crash", "handed_back")]


def test_revoking_the_message_of_a_job_cancels_the_job(cluster: OwnCluster, tmp_path: Path) -> None:
    dags, marker = cluster.dags, tmp_path / "running"
    cluster.start_ready_worker("worker")
    run = dags.after.submit("run_until", [str(marker)])
    eventually(marker.exists)
    # Celery's own orders are not kept for a worker that does not listen yet.
    eventually(lambda: dags.app.control.ping(timeout=0.2))
    dags.app.control.revoke(attempt_id(job_id(run.id, 0), 1), terminate=True)
    assert run.wait(timeout=10) is RunState.CANCELLED
    (revoked,) = [event for event in dags.events(job_id(run.id, 0)) if event["to"] == "cancelled"]
    assert revoked["why"] == "revoked"
    store = dags.marie.store
    eventually(lambda: store.client.zcard(store.keys.slots("main")) == 0, seconds=5)
    assert marker.exists(), "the job was stopped, it did not end by itself"


def test_a_worker_that_was_away_during_a_cancel_stops_the_job_when_it_is_back(
    cluster: OwnCluster, tmp_path: Path
) -> None:
    dags, marker = cluster.dags, tmp_path / "running"
    cluster.start_ready_worker("away")
    run = dags.single.submit("run_until", [str(marker)])
    eventually(lambda: marker.exists() and marker.read_text())
    job_process = int(marker.read_text())
    # The parent alone: the job itself runs on, and nobody can tell it.
    os.kill(cluster.processes["away"].pid, signal.SIGSTOP)
    assert run.cancel()
    assert run.wait(timeout=10) is RunState.CANCELLED
    assert Path(f"/proc/{job_process}").exists()
    os.kill(cluster.processes["away"].pid, signal.SIGCONT)
    eventually(lambda: job_process not in cluster.children("away"))
    assert marker.exists(), "the job was stopped, it did not end by itself"


def test_a_message_that_a_worker_gets_after_the_cancel_starts_nothing(cluster: OwnCluster, tmp_path: Path) -> None:
    dags, marker = cluster.dags, tmp_path / "running"
    cluster.start_ready_worker("away")
    os.killpg(cluster.processes["away"].pid, signal.SIGSTOP)
    run = dags.single.submit("run_until", [str(marker)])
    eventually(lambda: [event for event in dags.events(run.id) if event["to"] == "dispatched"])
    assert run.cancel()
    os.killpg(cluster.processes["away"].pid, signal.SIGCONT)
    # Messages come in order: when the next one is done, that one has been looked at.
    assert dags.layered.submit(1, 1).result(timeout=30) == 1
    assert not marker.exists()
    assert not [event for event in dags.events(run.id) if event["to"] == "active"]


def test_a_pause_holds_for_workers_that_start_later(cluster: OwnCluster) -> None:
    dags = cluster.dags
    run = dags.layered.submit(1, 3)
    assert dags.marie.operations.pause("executor", "main")
    cluster.start_ready_worker("later")
    other = dags.layered.submit(1, 1)
    assert dags.marie.operations.pause("run", other.id)
    assert dags.marie.operations.resume("executor", "main")
    assert run.result(timeout=30) == 3
    assert not [event for event in dags.events(other.id) if event["to"] in ("dispatched", "active")]
    assert dags.marie.operations.resume("run", other.id)
    assert other.result(timeout=30) == 1
    first_ms = min(int(event["at"]) for event in dags.events(run.id) if event["to"] == "dispatched")
    resumed_ms = [
        int(fields["at"])
        for _, fields in dags.marie.store.client.xrange(dags.marie.store.keys.events)
        if fields.get("executor") == "main" and fields["to"] == "resumed"
    ]
    assert first_ms >= resumed_ms[-1], "nothing was sent while the executor was paused"

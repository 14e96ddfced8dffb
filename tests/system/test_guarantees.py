"""What docs/guarantees.md promises of crashes: of workers, of their processes, of schedulers, of jobs."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from guarantee_app import layered_result
from own_cluster import OwnCluster, own_cluster
from waiting import eventually

from marie_celery import RunState, WorkState
from marie_celery.store.keys import attempt_id, job_id


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnCluster]:
    with own_cluster(tmp_path_factory.mktemp("guarantees"), run=60) as made:
        made.start_scheduler()
        made.start_ready_worker("steady")
        yield made


@pytest.mark.parametrize(("lease", "run", "bound"), [(0.6, 1.5, 3.0), (2.0, 6.0, 11.0)], ids=["lowered", "run_ttl+5"])
def test_the_jobs_of_a_killed_worker_run_again_in_time(tmp_path: Path, lease: float, run: float, bound: float) -> None:
    with own_cluster(tmp_path, lease=lease, run=run) as cluster:
        dags, marker = cluster.dags, tmp_path / "running"
        cluster.start_scheduler()
        workers = {cluster.start_ready_worker(name): name for name in ("first", "second")}
        submitted = dags.single.submit("run_until", [str(marker)])
        eventually(marker.exists)
        (job,) = submitted.jobs()
        marker.unlink()
        marker.mkdir()  # the next to begin cannot take this for its own
        killed_ms = dags.now_ms()
        cluster.kill(workers.pop(job.worker))
        marker.rmdir()
        eventually(marker.is_file)
        marker.unlink()
        (other,) = workers
        assert submitted.result(timeout=30) == other
        begun = [int(event["at"]) for event in dags.events(submitted.id) if event["to"] == "active"]
        assert len(begun) == 2
        assert (begun[1] - killed_ms) / 1000 < bound


def test_a_message_that_a_killed_worker_had_not_begun_is_sent_again(tmp_path: Path) -> None:
    with own_cluster(tmp_path) as cluster:
        dags = cluster.dags
        cluster.start_scheduler()
        first = cluster.start_ready_worker("first")
        for pid in cluster.children("first"):
            os.kill(pid, signal.SIGSTOP)
        run = dags.single.submit("add", [1])
        (attempt,) = eventually(lambda: (dags.app.control.inspect([first]).reserved() or {}).get(first))
        assert not dags.marie.store.client.exists("unacked", "main"), "the worker alone knows of it"
        cluster.kill("first")
        second = cluster.start_ready_worker("second")
        assert run.result(timeout=30) == 2
        assert attempt["id"] == attempt_id(job_id(run.id, 0), 1)
        assert [(job.worker, job.attempt) for job in run.jobs()] == [(second, 2)]


def test_a_killed_process_of_the_pool_is_noticed_at_once(cluster: OwnCluster, tmp_path: Path) -> None:
    dags, marker = cluster.dags, tmp_path / "running"
    run = dags.single.submit("run_until", [str(marker)])
    eventually(lambda: marker.exists() and marker.read_text())
    first = int(marker.read_text())
    assert first in cluster.children("steady")
    killed_ms = dags.now_ms()
    os.kill(first, signal.SIGKILL)
    eventually(lambda: int(marker.read_text() or first) != first)
    marker.unlink()
    assert run.result(timeout=30)
    (lost,) = [event for event in dags.events(run.id) if event["from"] == "active" and event["to"] == "ready"]
    assert lost["why"] == "crash"
    assert int(lost["at"]) - killed_ms < 1_000, "not by its lease, which has 60 s"


@pytest.mark.parametrize("schedulers", [2, 4])
def test_many_schedulers_give_the_results_of_one_and_any_may_be_killed(cluster: OwnCluster, schedulers: int) -> None:
    dags = cluster.dags
    others = [f"scheduler-{number}" for number in range(1, schedulers)]
    for name in others:
        cluster.start_scheduler(name)
    eventually(lambda: len(dags.marie.store.schedulers()) == schedulers)
    runs = [dags.layered.submit(4, 15) for _ in range(4)]
    for number, name in enumerate(["scheduler", *others]):
        reached = 10 * (number + 1)
        eventually(lambda reached=reached: runs[0].status().done >= reached, seconds=60)  # type: ignore[misc]
        cluster.kill(name)
        cluster.start_scheduler(name)
    assert [run.result(timeout=60) for run in runs] == [layered_result(4, 15)] * 4
    for run in runs:
        events = dags.events(run.id)
        dispatched = Counter(event["job"] for event in events if event["to"] == "dispatched")
        assert dispatched == {job.job_id: job.attempt for job in run.jobs()}, "one for each token"
        completed = Counter(event["job"] for event in events if event["to"] == "completed")
        assert set(completed.values()) == {1}
    for name in others:
        cluster.kill(name)


def test_a_job_that_kills_its_process_is_quarantined_after_three_and_its_run_ends(cluster: OwnCluster) -> None:
    dags = cluster.dags
    run = dags.after.submit("die", [])
    assert run.wait(timeout=60) is RunState.FAILED
    poisoned, waiting = run.jobs()
    assert (poisoned.state, poisoned.reason, poisoned.attempt) == (WorkState.FAILED, "poison", 3)
    assert (waiting.state, waiting.reason) == (WorkState.SKIPPED, "upstream_failed")
    assert poisoned.job_id in [letter.job.job_id for letter in dags.marie.operations.dead()]


def test_a_job_whose_argument_was_broken_is_replayed_from_the_dead_letters(cluster: OwnCluster, tmp_path: Path) -> None:
    dags, missing = cluster.dags, tmp_path / "missing"
    run = dags.after.submit("read", [str(missing)])
    assert run.wait(timeout=60) is RunState.FAILED
    (letter,) = [letter for letter in dags.marie.operations.dead() if letter.job.job_id == job_id(run.id, 0)]
    assert letter.job.error is not None
    assert letter.job.error["type"] == "FileNotFoundError"
    assert str(missing) in letter.inputs
    missing.write_text("12345")
    assert dags.marie.operations.replay([letter.job.job_id]) == 2, "the job, and what depends on it"
    assert run.result(timeout=30) == 6
    assert letter.job.job_id not in [left.job.job_id for left in dags.marie.operations.dead()]

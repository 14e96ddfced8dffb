"""Processes that die, hang and are told to stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from waiting import eventually

from marie_celery import RunState, WorkState
from marie_celery.cluster import Cluster
from marie_celery.store.keys import job_id


def test_a_job_that_kills_its_process_is_quarantined_and_its_run_ends(dags: ModuleType) -> None:
    run = dags.single.submit("die", [])
    assert run.wait(timeout=60) is RunState.FAILED
    (job,) = run.jobs()
    assert (job.state, job.reason, job.attempt) == (WorkState.FAILED, "poison", 2)
    assert job.error is not None
    assert job.error["type"] == "WorkerLostError"


def test_a_hard_time_limit_ends_the_job(dags: ModuleType) -> None:
    run = dags.single.submit("hang", [])
    assert run.wait(timeout=60) is RunState.FAILED
    (job,) = run.jobs()
    assert (job.state, job.reason) == (WorkState.FAILED, "timeout")


def test_a_running_job_is_stopped_by_a_cancel_and_its_slot_comes_back(dags: ModuleType, tmp_path: Path) -> None:
    marker = tmp_path / "running"
    run = dags.single.submit("run_until", [str(marker)])
    eventually(marker.exists)
    assert run.cancel()
    assert run.wait(timeout=10) is RunState.CANCELLED
    store = dags.marie.store
    eventually(lambda: store.client.zcard(store.keys.slots("main")) == 0)
    assert marker.exists(), "the job was stopped, it did not end by itself"
    assert not run.cancel()


def test_a_killed_worker_loses_nothing(cluster: Cluster, dags: ModuleType, tmp_path: Path) -> None:
    marker = tmp_path / "running"
    run = dags.single.submit("run_until", [str(marker)])
    eventually(marker.exists)
    cluster.kill("worker-main")
    marker.unlink()
    cluster.start_worker("main", options=["-l", "warning"])
    eventually(marker.exists)
    marker.unlink()
    assert run.result(timeout=30) == "ended"
    (job,) = run.jobs()
    assert job.attempt == 2


def test_a_killed_scheduler_is_replaced_by_another(cluster: Cluster, dags: ModuleType) -> None:
    run = dags.chain.submit(100)
    cluster.start_scheduler("second-scheduler")
    cluster.kill("scheduler")
    assert run.result(timeout=60) == 100
    cluster.start_scheduler()
    assert dags.chain.submit(20).result(timeout=60) == 20
    cluster.kill("second-scheduler")


def test_a_client_that_dies_while_it_submits_leaves_nothing(cluster: Cluster, dags: ModuleType) -> None:
    store = dags.marie.store
    client = store.client
    code = "import system_app; system_app.wide.submit(99_999)"
    submitting = subprocess.Popen(
        [sys.executable, "-c", code], env={**cluster.environment, "MARIE_STAGING_TTL_SECONDS": "1"}
    )
    (run,) = eventually(lambda: client.zrange(store.keys.staging, 0, -1))
    os.kill(submitting.pid, signal.SIGKILL)
    submitting.wait()
    assert client.exists(store.keys.job(job_id(run, 0)))
    eventually(lambda: not client.keys(f"*{run}*") and not client.exists(store.keys.staging), seconds=60)


def test_a_hundred_thousand_jobs_are_accepted_in_one_submit(dags: ModuleType) -> None:
    run = dags.wide.submit(99_999)
    view = run.status()
    assert view.jobs == sum(view.counts.values()) == 100_000
    assert run.cancel()
    assert run.wait(timeout=60) is RunState.CANCELLED

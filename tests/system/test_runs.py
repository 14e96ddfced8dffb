"""Whole runs on a real prefork worker."""

from __future__ import annotations

from types import ModuleType

import pytest

from marie_celery import DagError, Run, RunFailed, RunState, WorkState
from marie_celery.model.ranges import unpack
from marie_celery.store.keys import job_id, number_of, run_of


def job_events(dags: ModuleType, run: Run) -> list[tuple[str, str, str]]:
    """(job, from, to) of every transition of the run's jobs, in order."""
    keys = dags.marie.store.keys
    events = dags.marie.store.client.xrange(keys.events)
    return [
        (event["job"], event["from"], event["to"])
        for _, event in events
        if "job" in event and run_of(event["job"]) == run.id
    ]


def assert_each_once_and_in_order(dags: ModuleType, run: Run, jobs: int) -> None:
    events = job_events(dags, run)
    started = {job: place for place, (job, _, to) in enumerate(events) if to == "active"}
    ended = {job: place for place, (job, _, to) in enumerate(events) if to == "completed"}
    assert len([1 for _, _, to in events if to == "active"]) == len(started) == jobs
    assert len([1 for _, _, to in events if to == "completed"]) == len(ended) == jobs
    store = dags.marie.store
    edges = 0
    for job in ended:
        children = store.client.hget(store.keys.job(job), "children") or ""
        for child in unpack(children):
            assert ended[job] < started[job_id(run.id, child)]
            edges += 1
    assert edges >= jobs - 1


def test_a_layered_dag_runs_every_job_once_and_parents_first(dags: ModuleType) -> None:
    store = dags.marie.store
    fenced = store.client.hget(store.keys.counters, "fencedWrites")
    run = dags.layered.submit(10, 100)
    value = 0
    for _ in range(10):
        value = (value + 1) * 100
    assert run.result(timeout=100) == value
    assert_each_once_and_in_order(dags, run, 1010)
    assert store.client.hget(store.keys.counters, "fencedWrites") == fenced, "nothing was delivered twice"


def test_a_chain_of_200_runs_in_order(dags: ModuleType) -> None:
    run = dags.chain.submit(200)
    assert run.result(timeout=100) == 200
    assert_each_once_and_in_order(dags, run, 200)


def test_a_fan_out_wider_than_one_script_call_completes(dags: ModuleType) -> None:
    assert dags.wide.submit(1500).result(timeout=100) == sum(number + 1 for number in range(1500))


def test_a_merge_joins_layers_without_a_worker(dags: ModuleType) -> None:
    run = dags.gathered.submit(30)
    assert run.result(timeout=60) == 60
    (gate,) = [job for job in run.jobs() if job.name == "merge"]
    assert (gate.state, gate.attempt, gate.worker) == (WorkState.COMPLETED, 0, "")


def test_models_and_dataclasses_travel_by_their_annotations(dags: ModuleType) -> None:
    result = dags.billed.submit(5).result(timeout=30)
    assert result == dags.Invoice(number=8, due=result.due)
    assert result.due.isoformat() == "2026-11-18T12:00:00+00:00"


def test_a_task_knows_its_job(dags: ModuleType) -> None:
    run = dags.single.submit("who", [])
    assert run.result(timeout=30) == {
        "job": job_id(run.id, 0),
        "run": run.id,
        "attempt": 1,
        "executor": "main",
        "dag": "single",
    }


def test_a_failing_job_is_tried_again_until_it_succeeds(dags: ModuleType) -> None:
    assert dags.single.submit("succeed_on_attempt", [3]).result(timeout=30) == 3
    assert dags.single.submit("again_later", []).result(timeout=30) == 2


def test_a_job_that_fails_for_good_fails_the_run_and_is_a_dead_letter(dags: ModuleType) -> None:
    run = dags.single.submit("succeed_on_attempt", [9])
    with pytest.raises(RunFailed, match="RuntimeError: attempt 3 fails"):
        run.result(timeout=30)
    store = dags.marie.store
    assert store.client.zscore(store.keys.dead, job_id(run.id, 0)) is not None
    assert "raise RuntimeError" in dags.marie.reader.job(job_id(run.id, 0)).error["traceback"]


def test_a_failure_skips_what_depends_on_it_and_spares_the_rest(dags: ModuleType) -> None:
    run = dags.broken_branch.submit()
    assert run.wait(timeout=30) is RunState.FAILED
    states = {job.name: (job.state, job.reason) for job in run.jobs()}
    assert states == {
        "fail": (WorkState.FAILED, "failed"),
        "add": (WorkState.SKIPPED, "upstream_failed"),
        "add-2": (WorkState.COMPLETED, ""),
        "clean_up": (WorkState.COMPLETED, ""),
    }


def test_a_task_may_skip_itself(dags: ModuleType) -> None:
    run = dags.single.submit("skip", ["nothing to do"])
    assert run.result(timeout=30) is None
    (job,) = run.jobs()
    assert (job.state, job.reason) == (WorkState.SKIPPED, "nothing to do")


def test_a_result_that_is_too_large_fails_with_a_clear_error(dags: ModuleType) -> None:
    with pytest.raises(RunFailed, match=r"has 2000002 bytes, max_result_bytes is 1048576"):
        dags.single.submit("too_much", []).result(timeout=30)


def test_a_bad_dag_is_refused_and_nothing_is_stored(dags: ModuleType) -> None:
    client = dags.marie.store.client
    before = set(client.keys("*"))
    with pytest.raises(DagError, match="priority 'urgent'"):
        dags.single.options(priority="urgent").submit("add", [1])
    with pytest.raises(DagError, match="object"):
        dags.single.submit("add", [object()])
    assert {key for key in client.keys("*") if ":run:" in key or ":job:" in key} <= before


def test_plain_celery_calls_stay_plain(dags: ModuleType) -> None:
    assert dags.add(2, 3) == 5
    assert dags.add.s(2, 3).apply().get() == 5
    assert number_of(job_id("0" * 13, 7)) == 7


async def wait_and_result(run: Run) -> tuple[RunState, object]:
    return await run.wait_async(timeout=30), await run.result_async(timeout=30)


def test_waiting_works_in_asyncio_too(dags: ModuleType) -> None:
    import asyncio

    assert asyncio.run(wait_and_result(dags.chain.submit(2))) == (RunState.COMPLETED, 2)
    with pytest.raises(TimeoutError, match=r"not done after 0\.05 s"):
        asyncio.run(dags.chain.submit(300).wait_async(timeout=0.05))

"""Maps, branches, gates and last jobs on real prefork workers."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest
from waiting import eventually

from marie_celery import Run, RunFailed, RunState, WorkState
from marie_celery.cluster import Cluster


@pytest.fixture(scope="module")
def graphs(dags: ModuleType) -> ModuleType:
    return importlib.import_module("graph_app")


def states(run: Run) -> dict[str, tuple[WorkState, str]]:
    return {job.name: (job.state, job.reason) for job in run.jobs()}


def test_a_map_over_10_000_items_and_its_reduce(graphs: ModuleType) -> None:
    run = graphs.mapped.submit(10_000)
    assert run.result(timeout=110) == sum(range(1, 10_001))
    view = run.status()
    assert (view.jobs, view.counts) == (10_003, {WorkState.COMPLETED: 10_003})


def test_batches_do_the_same_with_fewer_jobs(graphs: ModuleType) -> None:
    run = graphs.mapped.submit(10_000, batch=250)
    assert run.result(timeout=60) == sum(range(1, 10_001))
    assert run.status().jobs == 43


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_map_of_a_map(graphs: ModuleType, count: int) -> None:
    assert graphs.triangle.submit(count).result(timeout=30) == [list(range(each)) for each in range(count)]


def test_an_item_that_skips_leaves_its_place_empty(graphs: ModuleType) -> None:
    assert graphs.odds.submit(4, skips=1).result(timeout=30) == [False, None, False, True]


def test_an_item_that_fails_fails_the_run_and_a_replay_of_it_mends_the_list(graphs: ModuleType) -> None:
    run = graphs.odds.submit(3, fails=1, join="all_done")
    with pytest.raises(RunFailed, match=r"odd\[1\]: ValueError: 1 fails"):
        run.result(timeout=30)
    assert states(run)["odd"] == (WorkState.COMPLETED, "map")
    again = graphs.odds.submit(3, fails=1)
    assert again.wait(timeout=30) is RunState.FAILED
    assert states(again)["odd"] == (WorkState.SKIPPED, "upstream_failed")


def test_a_mapped_dag_makes_a_graph_for_each_item(graphs: ModuleType) -> None:
    assert graphs.rows.submit(4).result(timeout=30) == [
        {"sum": sum(each + 2 for each in range(count)), "odd": "yes" if count % 2 else "no"} for count in range(4)
    ]


def test_a_dag_inside_a_dag(graphs: ModuleType) -> None:
    run = graphs.both.submit(3)
    assert run.result(timeout=30) == [{"sum": 3, "odd": "yes"}, {"sum": 18, "odd": "yes"}]
    assert {"row/total", "row-2/total", "row/add[2]"} <= states(run).keys()


@pytest.mark.parametrize(("x", "expected", "skipped"), [(1, 101, "add-2"), (2, 202, "add")])
def test_one_of_two_paths(graphs: ModuleType, x: int, expected: int, skipped: str) -> None:
    run = graphs.either.submit(x)
    assert run.result(timeout=30) == {"way": expected, "after": [expected]}
    assert states(run)[skipped] == (WorkState.SKIPPED, "branch_not_taken")


def test_paths_by_name(graphs: ModuleType) -> None:
    assert graphs.by_name.submit("a").result(timeout=30) == {"switch": 2, "choose": {"a": 2}}
    assert graphs.by_name.submit("b").result(timeout=30) == {"switch": 3, "choose": {"b": {"of": 3}}}
    run = graphs.by_name.submit("c")
    with pytest.raises(RunFailed, match="choose: BranchError: there is no path 'c'; there are a, b"):
        run.result(timeout=30)


def test_an_optional_parent_may_fail(graphs: ModuleType) -> None:
    run = graphs.without.submit("no luck")
    assert run.wait(timeout=30) is RunState.FAILED
    assert states(run)["take"][0] is WorkState.COMPLETED


@pytest.mark.parametrize("name", ["gated", "gated_by_wait"])
def test_a_gate_keeps_all_back_until_it_says_yes(graphs: ModuleType, name: str, tmp_path: Path) -> None:
    marker = tmp_path / name
    run = getattr(graphs, name).options(key=str(marker)).submit()
    gate = "is_there" if name == "gated" else "is_there_or_waits"
    told = "the gate answered False" if name == "gated" else "the file is not there"
    eventually(lambda: states(run)[gate] == (WorkState.RETRY, told))
    assert states(run)["add"] == (WorkState.CREATED, "")
    assert told in run.why(gate).reasons[0].text or run.why(gate).state != "retry"
    eventually(lambda: next(job.attempt for job in run.jobs() if job.name == gate) > 3)
    marker.touch()
    assert run.result(timeout=30) == 2


@pytest.mark.parametrize("fails", [True, False])
def test_last_jobs_know_their_run(graphs: ModuleType, fails: bool, tmp_path: Path) -> None:
    marker = tmp_path / "lines"
    run = graphs.with_ends.options(key=str(marker)).submit(fails)
    assert run.wait(timeout=30) is (RunState.FAILED if fails else RunState.COMPLETED)
    names = ["bad", "last"] if fails else ["last"]
    assert marker.read_text().splitlines() == [f"{name} {run.id}" for name in names]


def test_a_scheduler_that_is_killed_in_the_middle_of_a_map_is_taken_over_from(
    cluster: Cluster, graphs: ModuleType
) -> None:
    cluster.start_scheduler("second")
    run = graphs.mapped.submit(3_000)
    eventually(lambda: run.status().jobs > 100)
    cluster.kill("second")
    assert run.result(timeout=60) == sum(range(1, 3_001))

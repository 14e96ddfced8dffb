"""Graphs that are decided while they run: maps, branches, optional parents, gates, last jobs, dags within dags."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from marie_celery import RunFailed, RunState
from marie_celery.testing import attempts, order, reasons, states
from tests.conformance.conftest import RunDag


@pytest.mark.parametrize("batch", [None, 1, 2, 50])
def test_a_map_makes_a_job_for_each_item_and_keeps_the_order(run: RunDag, dags: ModuleType, batch: int | None) -> None:
    assert run(dags.mapped, [1, 2, 3, 4, 5], "add", batch).result() == 20
    assert run(dags.mapped, [], "add", batch).result() == 0


def test_the_jobs_of_a_map_are_named_by_their_places(run: RunDag, dags: ModuleType) -> None:
    ended = run(dags.mapped, [4, 5, 6])
    assert list(states(ended)) == ["say", "add", "total", "add[0]", "add[1]", "add[2]"]
    batched = run(dags.mapped, [4, 5, 6], "add", 2)
    assert list(states(batched))[3:] == ["add[0-1]", "add[2-2]"]
    assert (reasons(batched)["add"], attempts(batched)["add"]) == ("map", 0)


@pytest.mark.parametrize("batch", [None, 2])
def test_an_item_that_skips_leaves_its_place_empty(run: RunDag, dags: ModuleType, batch: int | None) -> None:
    ended = run(dags.mapped, [2, 3, 4], "half", batch)
    assert ended.result() == 3
    if batch is None:
        assert (states(ended)["half[1]"], reasons(ended)["half[1]"]) == ("skipped", "odd")


def test_an_item_that_fails_ends_the_map_as_its_rule_says(run: RunDag, dags: ModuleType) -> None:
    ended = run(dags.mapped, [1, 2, 3], "only_small")
    assert ended.wait() is RunState.FAILED
    found = states(ended)
    assert (found["only_small[2]"], found["only_small"], found["total"]) == ("failed", "skipped", "skipped")
    assert reasons(ended)["only_small"] == "upstream_failed"


def test_maps_of_maps_of_nothing_and_of_something(run: RunDag, dags: ModuleType) -> None:
    assert run(dags.map_of_map, []).result() == []
    assert run(dags.map_of_map, [1, 2]).result() == [12, 13]


def test_lists_are_taken_item_by_item_together(run: RunDag, dags: ModuleType) -> None:
    assert run(dags.two_lists, [1, 2], [10, 20]).result() == [11, 22]
    with pytest.raises(RunFailed, match="MapError: a map takes lists of the same length, not of 1 and 2"):
        run(dags.two_lists, [1, 2], [10]).result()


def test_what_is_no_list_fails_the_map_with_a_clear_error(run: RunDag, dags: ModuleType) -> None:
    with pytest.raises(RunFailed, match="MapError: what the map takes its items from is not a list but str"):
        run(dags.map_of_text).result()


def test_a_list_longer_than_allowed_fails_the_map(run: RunDag, dags: ModuleType) -> None:
    with pytest.raises(RunFailed, match="the list has 10001 items, and max_map_length is 10000"):
        run(dags.mapped, [0] * 10_001).result()


def test_a_dag_can_be_mapped(run: RunDag, dags: ModuleType) -> None:
    ended = run(dags.mapped_dag, [0, 3])
    assert ended.result() == [{"sum": 2, "sign": "none"}, {"sum": 8, "sign": "some"}]
    assert {"conform-inner[1]/add[0]", "conform-inner[1]/total"} <= set(states(ended))
    assert run(dags.mapped_dag, []).result() == []


def test_a_dag_within_a_dag_is_part_of_it(run: RunDag, dags: ModuleType) -> None:
    ended = run(dags.nested, 0)
    assert ended.result() == [{"sum": 2, "sign": "none"}, {"sum": 4, "sign": "some"}]
    assert {"conform-inner/total", "conform-inner-2/total"} <= set(states(ended))


@pytest.mark.parametrize("value", [True, 1, "x", [0], {"a": None}, 0.5])
def test_a_branch_takes_the_first_path_of_what_is_true(run: RunDag, dags: ModuleType, value: Any) -> None:
    ended = run(dags.branched, value)
    assert ended.result() == {"branch": 2, "after": 2}
    assert (states(ended)["say-2"], reasons(ended)["say-2"]) == ("skipped", "branch_not_taken")


@pytest.mark.parametrize("value", [False, 0, "", [], {}, None, 0.0])
def test_a_branch_takes_the_other_path_of_what_is_false(run: RunDag, dags: ModuleType, value: Any) -> None:
    ended = run(dags.branched, value)
    assert ended.result() == {"branch": "other", "after": "other"}
    assert (states(ended)["add"], reasons(ended)["branch"]) == ("skipped", "took else")


def test_a_switch_takes_the_path_that_is_named(run: RunDag, dags: ModuleType) -> None:
    assert run(dags.switched, "a").result() == "A"
    assert run(dags.switched, 1).result() == [2, 2]
    assert run(dags.switched_by_default, "z").result() == "D"
    with pytest.raises(RunFailed, match="BranchError: there is no path 'z'; there are a, 1"):
        run(dags.switched, "z").result()


def test_a_choice_takes_all_paths_that_are_named(run: RunDag, dags: ModuleType) -> None:
    assert run(dags.chosen, ["q", "p"]).result() == {"p": "P", "q": {"q": 2}}
    assert run(dags.chosen, "p").result() == {"p": "P"}
    assert run(dags.chosen, []).result() == {}
    assert run(dags.chosen, ["r"]).wait() is RunState.FAILED


@pytest.mark.parametrize(
    ("outer", "within", "expected"),
    [(True, True, "both"), (True, False, "outer only"), (False, True, "neither")],
)
def test_branches_nest(run: RunDag, dags: ModuleType, outer: bool, within: bool, expected: str) -> None:
    assert run(dags.branch_in_branch, outer, within).result() == expected


def test_a_child_can_do_without_optional_parents(run: RunDag, dags: ModuleType) -> None:
    ended = run(dags.with_optional)
    assert states(ended)["say"] == "completed"
    assert ended.wait() is RunState.FAILED


@pytest.mark.parametrize(
    ("task", "state", "on_failure"),
    [("say", RunState.COMPLETED, ("skipped", "nothing_failed")), ("fail", RunState.FAILED, ("completed", ""))],
)
def test_last_jobs_run_last_and_hide_nothing(
    run: RunDag, dags: ModuleType, task: str, state: RunState, on_failure: tuple[str, str]
) -> None:
    ended = run(dags.with_ends, task)
    assert ended.wait() is state
    assert (states(ended)["clean_up"], reasons(ended)["clean_up"]) == on_failure
    assert states(ended)["clean_up-2"] == "completed"
    assert order(ended)[-1] == "clean_up-2"


def test_nothing_starts_before_the_gate_says_yes(run: RunDag, dags: ModuleType) -> None:
    ended = run(dags.gated)
    assert ended.result() == 3
    assert order(ended) == ["open_at_last"] * 3 + ["add", "add-2"]


def test_behind_a_gate_that_fails_nothing_runs(run: RunDag, dags: ModuleType) -> None:
    ended = run(dags.shut)
    assert ended.wait() is RunState.FAILED
    assert (states(ended)["say"], reasons(ended)["say"]) == ("skipped", "upstream_failed")

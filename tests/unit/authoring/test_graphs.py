"""What users write: maps, branches, dags inside dags, gates. What becomes of it, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from marie_celery import DagError, branch, choose, dag, merge, optional, switch, task
from marie_celery.authoring.compile import Compiler, Surroundings
from marie_celery.authoring.mapping import items_of
from marie_celery.config import Settings
from marie_celery.errors import ConfigError, MapError


@task(executor="e")
def split(path: str) -> Any: ...


@task(executor="e")
def read(page: Any, language: str = "en") -> Any:
    return [page, language]


@task(executor="e")
def touch(file: Path) -> Any: ...


@task(executor="e")
def probe() -> Any: ...


@dag
def page(path: str, language: str = "en") -> Any:
    return read(split(path), language)


def compiled(function: Any, settings: Settings | None = None, **options: Any) -> Any:
    made = dag(name="graph_tested", **options)(function)
    builder, output = made.build()
    return Compiler(builder, made.run_options, Surroundings(settings or Settings(), ["e"])).compile(output)


def problems(function: Any, **options: Any) -> list[str]:
    with pytest.raises(DagError) as refused:
        compiled(function, **options)
    return list(refused.value.problems)


def fields(new: Any) -> dict[str, dict[str, str]]:
    return {job.fields["name"]: job.fields for job in new.jobs}


class TestMaps:
    def test_a_map_waits_for_its_lists_and_its_items_for_the_rest(self) -> None:
        new = compiled(lambda: read.map(split("a"), language=split("b")))
        assert fields(new)["read"].items() >= {"control": "map", "lists": "0", "refs": "1", "deps": "2"}.items()
        assert new.jobs[2].inputs == '[{"$ref":0}]\n{"language":{"$ref":1}}'
        assert new.executors == ["e"]

    def test_literal_items_travel_by_annotation(self) -> None:
        new = compiled(lambda: touch.map([Path("a"), Path("b")]))
        assert new.jobs[0].inputs == '[["a","b"]]\n{}'

    def test_outside_of_a_dag_it_maps_the_function(self) -> None:
        assert read.map(["a", "b"], language="de") == [["a", "de"], ["b", "de"]]

    @pytest.mark.parametrize(
        ("wire", "problem"),
        [
            (lambda: read.map(), "read: map() needs a list"),
            (lambda: read.map(5), "read: map() takes lists or references to lists, not 5"),
            (lambda: read.map([1], ["a", "b"]), "read: map() takes lists of the same length, not of 1 and 2"),
            (lambda: read.map([1], other=2), "read: got an unexpected keyword argument 'other'"),
            (lambda: read.map([1], batch=0), "read: batch must be a whole number above 0, not 0"),
            (lambda: read.map([object()]), "read: argument 'page' is of type object"),
            (lambda: read.map(list(range(10_001))), "read: the list has 10001 items, max_map_length is 10000"),
            (lambda: read.options(executor="x").map([1]), "read: executor 'x' is unknown"),
        ],
    )
    def test_what_cannot_be_is_refused(self, wire: Any, problem: str) -> None:
        (found,) = problems(wire)
        assert found.startswith(problem)

    def test_items_of_several_lists_are_taken_together(self) -> None:
        items = items_of('[{"$ref":0},[1,{"$ref":1}]]\n{"k":{"$ref":2}}', {0: ["a", {"$ref": 9}], 1: []}.get, None, 9)
        assert [(item.label, item.inputs) for item in items] == [
            ("[0]", '["a",1]\n{"k":{"$ref":2}}'),
            ("[1]", '[{"$literal":{"$ref":9}},[]]\n{"k":{"$ref":2}}'),
        ]

    def test_a_batch_has_a_list_of_calls(self) -> None:
        items = items_of("[[1,2,3]]\n{}", {}.get, 2, 9)
        assert [(item.label, item.inputs, item.size) for item in items] == [
            ("[0-1]", "[[1],[2]]\n{}", 2),
            ("[2-2]", "[[3]]\n{}", 1),
        ]

    @pytest.mark.parametrize("given", [None, 5, "abc", {"a": 1}])
    def test_what_is_no_list_is_an_error(self, given: Any) -> None:
        with pytest.raises(MapError, match=f"is not a list but {type(given).__name__}"):
            items_of('[{"$ref":0}]\n{}', {0: given}.get, None, 9)


class TestBranches:
    def test_the_nodes_of_a_path_hang_on_the_branch(self) -> None:
        new = compiled(lambda: branch(split("a")["ok"], lambda: read(split("b")), lambda: 5))
        assert json.loads(fields(new)["branch"]["paths"]) == [["then", "2-3"], ["else", ""]]
        assert json.loads(fields(new)["branch"]["on"]) == [0, "ok"]
        assert {fields(new)[name]["gate"] for name in ("split-2", "read")} == {"1"}
        assert json.loads(fields(new)["pick"]["gives"]) == [["then", [[3]]], ["else", ["5"]]]
        assert new.fields["roots"] == "0"

    def test_a_cycle_through_a_branch_is_found(self) -> None:
        def wire() -> Any:
            check = split("a")
            made: list[Any] = []
            branch(check, lambda: made.append(read(1)))
            check.after(made[0])

        assert problems(wire) == ["it has a cycle: branch → read → split → branch"]

    @pytest.mark.parametrize(
        ("wire", "problem"),
        [
            (lambda: branch(True, lambda: None), "what is known already needs no job"),
            (lambda: branch(split("a"), read(1)), "functions without arguments"),
            (lambda: switch(split("a"), {(1, 2): lambda: None}), "a path is named by text"),
        ],
    )
    def test_what_is_no_branch_is_refused(self, wire: Any, problem: str) -> None:
        (found,) = problems(wire)
        assert problem in found

    @pytest.mark.parametrize(
        "wire",
        [
            lambda: switch(split("a"), {}),
            lambda: choose(split("a"), {1: lambda: 1, "1": lambda: 2}),
            lambda: switch(split("a"), {"default": lambda: 1}, lambda: 2),
        ],
    )
    def test_paths_need_names_of_their_own(self, wire: Any) -> None:
        with pytest.raises(ConfigError):
            compiled(wire)

    def test_outside_of_a_dag_there_is_nothing_to_branch(self) -> None:
        with pytest.raises(ConfigError, match="inside a @dag function"):
            branch(1, lambda: None)

    def test_a_reference_tells_what_to_use_instead(self) -> None:
        def by_truth() -> None:
            if split("a"):
                pass

        assert "branch(…)" in problems(by_truth)[0]
        assert "task.map(…)" in problems(lambda: [read(x) for x in split("a")])[0]


class TestOptional:
    def test_only_parents_that_are_nowhere_needed_are_optional(self) -> None:
        def wire() -> Any:
            a, b, c = split("a"), split("b"), split("c")
            return read([optional(a), optional(b), b]).after(optional(c))

        assert fields(compiled(wire))["read"].items() >= {"deps": "3", "optional": "0 2"}.items()

    def test_what_is_no_reference_is_refused(self) -> None:
        assert "optional() takes what a task returned" in problems(lambda: read(optional(5)))[0]


class TestDagsInsideDags:
    def test_their_nodes_are_part_of_the_run_under_their_name(self) -> None:
        new = compiled(lambda: read([page("a"), page("b", language="de")]))
        assert list(fields(new)) == ["page/split", "page/read", "page-2/split", "page-2/read", "read"]
        assert fields(new)["read"]["refs"] == "1 3"

    def test_outside_they_are_not_called(self) -> None:
        with pytest.raises(TypeError, match=r"use page\.submit"):
            page("a")

    def test_options_for_one_call_mean_nothing_inside(self) -> None:
        assert problems(lambda: page.options(key="k", priority=5)("a")) == [
            "page: key is an option of a run; a dag inside a dag has none",
            "page: priority is an option of a run; a dag inside a dag has none",
        ]

    def test_what_keeps_a_run_in_order_is_not_lost_silently(self) -> None:
        guarded = dag(name="guarded", gate=probe, soft_sla="1h")(lambda: read(1))
        assert problems(lambda: guarded()) == ["guarded: gate is an option of a run; a dag inside a dag has none"]

    def test_a_dag_that_calls_itself_without_end_is_refused(self) -> None:
        endless = dag(name="endless")(lambda: endless())
        with pytest.raises(DagError, match="calls itself without end"):
            endless.build()

    def test_a_mapped_dag_waits_for_what_it_takes_from_outside(self) -> None:
        new = compiled(lambda: page.map(split("a"), language=split("b")))
        assert fields(new)["page"].items() >= {"deps": "2", "lists": "0", "control": "map"}.items()
        graph = json.loads(fields(new)["page"]["graph"])
        assert [job[1]["name"] for job in graph["jobs"]] == ["item", "split", "read", "gather"]
        assert new.executors == ["e"]

    def test_problems_inside_a_mapped_dag_are_told(self) -> None:
        bad = dag(name="bad")(lambda x: read.options(executor="x")(x, nope=1))
        found = problems(lambda: bad.map([1]))
        assert len(found) == 2
        assert all(each.startswith("read: ") for each in found)

    def test_a_mapped_dag_takes_as_many_lists_as_it_has_parameters(self) -> None:
        assert "too many positional arguments" in problems(lambda: page.map([1], [2], [3]))[0]


class TestGatesAndLastJobs:
    def test_all_hangs_on_the_gate_but_what_runs_last(self) -> None:
        def wire() -> Any:
            return branch(split("a"), lambda: read(1))

        new = compiled(wire, gate=probe, gate_every=2, on_failure=probe, finally_=probe.options(name="end"))
        assert [job.get("gate") for job in fields(new).values()] == ["4", "4", "1", "4", None, None, None]
        assert fields(new)["probe"]["ask_again"] == "2000"
        assert json.loads(fields(new)["probe"]["paths"]) == [["", "0-3"]]
        assert (new.fields["on_failure"], new.fields["finally"], new.fields["roots"]) == ("5", "6", "4")

    def test_they_are_called_without_arguments(self) -> None:
        found = problems(lambda: read(1), gate=split, finally_=split, gate_every=-1)
        assert len(found) == 3

    def test_all_problems_are_told_at_once(self) -> None:
        def wire() -> Any:
            read.map(5)
            merge(name="m")
            merge(name="m")
            return touch.options(priority="no")("a")

        assert len(problems(wire, priority="urgent")) == 4

"""What calls, edges and jobs of a submission share because they are alike, and what they must not share."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from celery import Celery
from hypothesis import given
from hypothesis import strategies as st

from marie_celery.authoring.compile import Compiler, Surroundings
from marie_celery.authoring.dag import dag
from marie_celery.authoring.payload import ArgumentEncoder
from marie_celery.authoring.task import Task, task
from marie_celery.authoring.types import Signature
from marie_celery.config import Settings
from marie_celery.errors import DagError, PayloadError
from marie_celery.resources.settings import ConcurrencySettings
from marie_celery.store.records import NewRun


def double(number: int, times: int = 2) -> int:
    return number * times


def shout(text: str) -> str:
    return text.upper()


def anything(value: Any = None, *more: Any, **named: Any) -> Any: ...


def a_task(function: Callable[..., Any] = double, name: str | None = None, **options: Any) -> Task[..., Any]:
    """Of an app of its own, so that names may be given again."""
    app = Celery("shared", set_as_current=False)
    return task(executor=options.pop("executor", "main"), name=name, app=app, **options)(function)


def compiled(function: Callable[[], Any], **around: Any) -> NewRun:
    made = dag(name="shared")(function)
    builder, output = made.build()
    return Compiler(builder, made.run_options, Surroundings(Settings(), ("main", "gpu"), **around)).compile(output)


def problems(function: Callable[[], Any]) -> list[str]:
    with pytest.raises(DagError) as refused:
        compiled(function)
    return list(refused.value.problems)


def fields(new: NewRun, name: str) -> list[str | None]:
    return [job.fields.get(name) for job in new.jobs]


class TestCalls:
    def test_that_look_alike_share_who_takes_their_arguments(self) -> None:
        signature = Signature(double, "double")
        assert signature.takers(1, ("times",)) is signature.takers(1, ("times",))
        assert [taker.name for taker in signature.takers(1, ("times",))] == ["number", "times"]
        assert [taker.name for taker in signature.takers(0, ("times", "number"))] == ["times", "number"]

    def test_that_are_wrong_are_refused_each_time_though_others_are_right(self) -> None:
        signature = Signature(double, "double")
        signature.takers(1, ())
        for _ in range(2):
            with pytest.raises(PayloadError, match="multiple values for argument 'number'"):
                signature.takers(1, ("number",))
            with pytest.raises(PayloadError, match="missing a required argument: 'number'"):
                signature.takers(0, ())

    def test_without_end_are_not_all_kept(self) -> None:
        signature = Signature(anything, "anything")
        for count in range(1_000):
            assert len(signature.takers(count, (f"name{count}",))) == count + 1
        assert len(signature._takers) < 1_000

    def test_of_a_task_that_was_defined_again_go_by_the_new_definition(self) -> None:
        before = a_task(double, name="again")
        assert compiled(lambda: before(1)).jobs[0].inputs == "[1]\n{}"
        after = a_task(shout, name="again")
        assert problems(lambda: after(1, 2)) == ["again: too many positional arguments"]
        assert problems(lambda: after(a_task()(1))) == ["again: 'text' takes str, and <double> gives int"]


class TestJobs:
    def test_of_tasks_with_one_function_have_the_options_of_their_own(self) -> None:
        quick = a_task(name="quick", priority=1, retry_limit=1, estimated_runtime=1.0)
        slow = a_task(name="slow", priority=2, retry_limit=2, estimated_runtime=60.0, executor="gpu")
        new = compiled(lambda: [quick(1), slow(1), quick(2), slow(2)])
        assert fields(new, "name") == ["quick", "slow", "quick-2", "slow-2"]
        assert fields(new, "task") == fields(new, "task")[:2] * 2 == ["quick", "slow"] * 2
        assert fields(new, "executor") == ["main", "gpu"] * 2
        assert fields(new, "priority") == ["1", "2"] * 2
        assert fields(new, "estimate") == fields(new, "path") == ["1000", "60000"] * 2
        assert [json.loads(new.specs[spec or ""])["retry_limit"] for spec in fields(new, "spec")] == [1, 2] * 2

    def test_of_one_task_have_the_options_of_their_call(self) -> None:
        plain = a_task()
        new = compiled(lambda: [plain(1), plain.options(priority=9)(1), plain(1)])
        assert fields(new, "priority") == ["50", "9", "50"]

    def test_of_tasks_that_share_their_options_are_those_of_their_task(self) -> None:
        one, other = a_task(name="one"), a_task(name="other")
        other.job_options = one.job_options
        assert fields(compiled(lambda: [one(1), other(1)]), "task") == ["one", "other"]

    def test_are_not_one_object(self) -> None:
        plain = a_task()
        first, second = compiled(lambda: [plain(1), plain(1)]).jobs
        assert first.fields is not second.fields
        assert (first.fields["name"], second.fields["name"]) == ("double", "double-2")

    def test_with_a_key_have_that_of_their_argument(self) -> None:
        keyed = a_task(shout, concurrency_key="text")
        new = compiled(lambda: [keyed("a"), keyed("b")], resources={"text": ConcurrencySettings()})
        assert fields(new, "needs") == ['[["text", 1, "a"]]', '[["text", 1, "b"]]']

    def test_with_the_same_problem_are_all_named(self) -> None:
        lost = a_task(executor="nowhere", time_limit=-1)
        found = problems(lambda: [lost(1), lost(2)])
        assert [text.partition(":")[0] for text in found] == ["double"] * 2 + ["double-2"] * 2


class TestEdges:
    def test_that_do_not_fit_are_all_named(self) -> None:
        number, text = a_task(), a_task(shout)
        found = problems(lambda: [text(number(1)), text(number(2))])
        assert found == [
            "shout: 'text' takes str, and <double> gives int",
            "shout-2: 'text' takes str, and <double-2> gives int",
        ]

    def test_are_not_like_those_into_another_parameter_or_from_another_task(self) -> None:
        def write(title: str, pages: list[int]) -> str: ...

        number, text, book = a_task(), a_task(shout), a_task(write)
        found = problems(lambda: [book(text("a"), [number(1), text("b"), number(2)]), book(number(3), [number(4)])])
        assert found == [
            "write: 'pages' takes int, and <shout-2> gives str",
            "write-2: 'title' takes str, and <double-3> gives int",
        ]

    def test_to_places_of_a_tuple_are_compared_place_by_place(self) -> None:
        def put(at: tuple[int, str]) -> None: ...

        number, text, place = a_task(), a_task(shout), a_task(put)
        found = problems(lambda: [place((number(1), text("a"))), place((number(2), number(3)))])
        assert found == ["put-2: 'at' takes str, and <double-3> gives int"]


PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)


@given(st.lists(VALUES, max_size=3), st.dictionaries(st.text(min_size=1), VALUES, max_size=3))
def test_the_short_way_writes_what_json_writes(args: list[Any], kwargs: dict[str, Any]) -> None:
    kwargs.pop("value", None)
    written = ArgumentEncoder(Signature(anything, "anything")).encode(tuple(args), kwargs)
    assert written == "\n".join(json.dumps(given, separators=(",", ":")) for given in (args, kwargs))

"""Types of results and parameters: at submit, between nodes, and for mypy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, TypedDict

import pytest

from marie_celery.authoring.compile import Compiler, Surroundings
from marie_celery.authoring.control import branch, merge
from marie_celery.authoring.dag import dag
from marie_celery.authoring.payload import encode_result
from marie_celery.authoring.task import task
from marie_celery.authoring.types import Signature
from marie_celery.config import Settings
from marie_celery.errors import DagError, PayloadError

HERE = Path(__file__).parent


class Page(TypedDict):
    number: int
    text: str


class Book(TypedDict, total=False):
    pages: list[Page]


@task(executor="main")
def count(of: object = None) -> int:
    return 0


@task(executor="main")
def pages() -> list[Page]:
    return []


@task(executor="main")
def join(texts: list[str], by: str = "") -> str:
    return ""


@task(executor="main")
def show(page: Page) -> None: ...


@task(executor="main")
def whatever(x):  # type: ignore[no-untyped-def]
    return x


def problems_of(function: Any) -> list[str]:
    made = dag(name=f"types-{function.__name__}")(function)
    builder, output = made.build()
    try:
        Compiler(builder, made.run_options, Surroundings(Settings(), {"main"})).compile(output)
    except DagError as error:
        return list(error.problems)
    return []


def test_a_result_that_cannot_fit_names_node_parameter_and_both_types() -> None:
    def wrong() -> Any:
        return join(count())  # type: ignore[arg-type]

    assert problems_of(wrong) == ["join: 'texts' takes list[str], and <count> gives int"]


def test_all_problems_come_at_once() -> None:
    def wrong() -> Any:
        number = count()
        return [join(number, by=number), show(pages()), show(pages()[0]["number"])]  # type: ignore[arg-type]

    assert problems_of(wrong) == [
        "join: 'texts' takes list[str], and <count> gives int",
        "join: 'by' takes str, and <count> gives int",
        "show: 'page' takes Page, and <pages> gives list[tests.unit.authoring.test_types.Page]",
        "show-2: 'page' takes Page, and <pages-2[0]['number']> gives int",
    ]


def test_references_in_a_list_are_compared_with_its_items() -> None:
    def wrong() -> Any:
        return join([join([]), count()])  # type: ignore[list-item]

    assert problems_of(wrong) == ["join-2: 'texts' takes str, and <count> gives int"]


def test_what_fits_or_cannot_be_known_passes() -> None:
    def fine() -> Any:
        page = pages()[0]
        text = join([page["text"], whatever(1)], by=whatever("-"))
        return [show(page), show(whatever(2)), count(text), whatever(merge(count()))]

    assert problems_of(fine) == []


def test_maps_and_branches_are_left_alone() -> None:
    def fine() -> Any:
        shown = show.map(pages())
        return branch(count(shown), lambda: join.map([pages()[0]["text"]]))

    assert problems_of(fine) == []


def book(made: Book) -> Book:
    return made


def test_a_typed_dict_is_checked_like_a_model() -> None:
    signature = Signature(book, "book")
    assert signature.restore_arguments([{"pages": [{"number": "1", "text": "a"}]}], {}) == (
        ({"pages": [{"number": 1, "text": "a"}]},),
        {},
    )
    with pytest.raises(PayloadError, match=r"made \(pages\.0\.text\) does not fit its annotation: Field required"):
        signature.restore_arguments([{"pages": [{"number": 1}]}], {})
    with pytest.raises(PayloadError, match=r"the result .*does not fit"):
        encode_result({"pages": 1}, signature)
    assert encode_result({}, signature) == "{}"


def test_mypy_sees_the_types_of_results_in_a_dag() -> None:
    file = HERE / "typed_dags.py"
    line = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", str(file)]
    told = subprocess.run(line, capture_output=True, text=True, check=False).stdout
    found = {int(line.split(":")[1]): line for line in told.splitlines() if "typed_dags.py:" in line}
    lines = enumerate(file.read_text().splitlines(), 1)
    expected = {number: line.partition("  # ")[2] for number, line in lines if "  # " in line}
    assert found.keys() == expected.keys(), told
    for number, words in expected.items():
        assert words in found[number].replace("builtins.", "")

"""Which types certainly do not fit, and which may."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, NotRequired, TypedDict, TypeVar
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, RootModel, field_validator

from marie_celery.authoring.fitting import is_unfit, part_of, type_name

Pages = NewType("Pages", int)
T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"


class Point(TypedDict):
    x: int
    y: int


class Named(TypedDict):
    x: int
    name: NotRequired[str]


class Invoice(BaseModel):
    number: int
    lines: list[str] = []


class Loose(BaseModel):
    number: int

    @field_validator("number", mode="before")
    @classmethod
    def _any(cls, value: Any) -> int:
        return len(str(value))


class Root(RootModel[list[int]]):
    pass


@dataclass
class Line:
    text: str
    amount: float = 0


class Tree(TypedDict):
    trees: list[Tree]


UNFIT = [
    (int, list[str]),
    (int, str),
    (str, int),
    (None, str),
    (int | None, str),
    (list[int], dict[str, int]),
    (list[int], list[str]),
    (tuple[int, str], list[int]),
    (tuple[int, str], tuple[int, int]),
    (dict[str, int], dict[str, str]),
    (dict[str, list[int]], Mapping[str, Sequence[str]]),
    (list[int], Invoice),
    (str, Invoice),
    (Point, Invoice),
    (Line, Invoice),
    (Invoice, Line),
    (dict[str, list[int]], Line),
    (Named, Point),
    (Invoice, list[str]),
    (datetime, list[int]),
    (list[str], UUID),
    (Literal["a"], int),
    (Colour, int),
    (Pages, str),
    (Annotated[int, Field(ge=0)], str),
]

MAY_FIT = [
    (int, int),
    (int, float),
    (bool, int),
    (int, bool),
    (Any, str),
    (int, Any),
    (object, str),
    (int, object),
    (str | None, str),
    (int, int | str),
    (list[int], list[float]),
    (list[int], list),
    (list, list[int]),
    (tuple[int, ...], list[int]),
    (set[str], list[str]),
    (list[Any], list[str]),
    (datetime, str),
    (str, datetime),
    (str, UUID),
    (str, Path),
    (Path, str),
    (int, datetime),
    (float, Decimal),
    (Colour, str),
    (str, Colour),
    (Literal["a"], str),
    (Point, dict[str, int]),
    (dict[str, int], Point),
    (Point, Named),
    (dict[str, Any], Invoice),
    (Invoice, dict),
    (Line, dict[str, Any]),
    (Loose, Invoice),
    (str, Loose),
    (list[int], Root),
    (int, T),
    (T, int),
    (Tree, Tree),
    (Pages, int),
]


@pytest.mark.parametrize(("gives", "takes"), UNFIT, ids=str)
def test_it_certainly_does_not_fit(gives: Any, takes: Any) -> None:
    assert is_unfit(gives, takes, restored=True) or is_unfit(gives, takes)


@pytest.mark.parametrize(("gives", "takes"), MAY_FIT, ids=str)
def test_it_may_fit(gives: Any, takes: Any) -> None:
    assert not is_unfit(gives, takes, restored=True)


def test_digits_fit_a_number_only_where_pydantic_restores_it() -> None:
    assert is_unfit(list[str], list[int])
    assert not is_unfit(list[str], list[int], restored=True)


leaves = st.sampled_from([int, str, float, bool, None, datetime, UUID, Point, Invoice, Line, Any])
types = st.recursive(
    leaves,
    lambda inner: st.one_of(
        inner.map(lambda each: list[each]),  # type: ignore[valid-type]
        inner.map(lambda each: dict[str, each]),  # type: ignore[valid-type]
        st.tuples(inner, inner).map(lambda two: tuple[two]),  # type: ignore[valid-type]
        st.tuples(inner, inner).map(lambda two: two[0] | two[1] if None not in two else two[1]),
    ),
    max_leaves=6,
)


@given(types, types)
def test_a_type_fits_itself_and_any_choice_that_has_it(one: Any, other: Any) -> None:
    assert not is_unfit(one, one)
    assert not is_unfit(one, Any)
    assert not is_unfit(Any, one)
    if one is not None and other is not None:
        assert not is_unfit(one, one | other)
        assert not is_unfit(one | other, one)


@pytest.mark.parametrize(
    ("gives", "path", "part"),
    [
        (list[int], [0], int),
        (dict[str, float], ["total"], float),
        (tuple[int, str], [1], str),
        (Point, ["x"], int),
        (Invoice, ["lines", 0], str),
        (Line, ["text"], str),
        (list[dict[str, int]], [0, "a"], int),
        (int, [0], Any),
        (list[int] | None, [0], Any),
        (list, [0], Any),
        (tuple[int, str], [5], Any),
        (Invoice, ["unknown"], Any),
    ],
)
def test_a_part_has_the_type_that_is_known_of_it(gives: Any, path: list[str | int], part: Any) -> None:
    assert part_of(gives, path) == part


def test_types_are_named_as_they_were_written() -> None:
    assert [type_name(each) for each in (int, list[str], None, Invoice)] == ["int", "list[str]", "None", "Invoice"]
    assert type_name(dict[str, Any] | None) == "dict[str, Any] | None"

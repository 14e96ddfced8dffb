"""What a job says of its children."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from marie_celery.authoring.behind import add_what_is_behind
from marie_celery.model.graph import lay_out


def behind(parents: Sequence[Sequence[int]], fields: Mapping[int, dict[str, str]] | None = None) -> list[str | None]:
    given = [{"task": "t", **(fields or {}).get(number, {})} for number in range(len(parents))]
    add_what_is_behind(given, parents, lay_out(parents).children)
    return [each.get("behind") for each in given]


def test_in_a_chain_each_has_the_next() -> None:
    assert behind([[], [0], [1]]) == ["next", "next", None]


def test_several_children_without_another_parent_are_alone() -> None:
    assert behind([[], [0], [0]])[0] == "alone"


def test_a_join_waits_for_all_of_its_parents() -> None:
    assert behind([[], [], [0, 1]]) == ["all", "all", None]


def test_one_child_with_another_parent_is_enough_for_all() -> None:
    assert behind([[], [], [0], [0, 1]])[0] == "all"


def test_nothing_is_said_where_a_child_goes_with_its_first_parent() -> None:
    assert behind([[], [], [0, 1]], {2: {"rule": "one_success"}}) == [None, None, None]
    assert behind([[], [], [0, 1]], {2: {"rule": "all_done"}}) == ["all", "all", None]


@pytest.mark.parametrize(
    "field", ["control", "rule", "needs", "tenant", "time_limit", "relay", "gate", "final", "batch", "optional"]
)
def test_a_child_with_something_special_is_alone_but_not_the_next(field: str) -> None:
    assert behind([[], [0]], {1: {field: "1"}})[0] == "alone"

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from marie_celery.errors import ConfigError
from marie_celery.resources import (
    Delta,
    DiscreteManager,
    Request,
    ResourceName,
    ResourceSettings,
    difference,
    merge_wishes,
    needs_of,
)

ALL: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[ResourceName, ResourceSettings])


def resources(**given: dict[str, Any]) -> dict[str, Any]:
    return ALL.validate_python(given)


def one(**given: Any) -> Any:
    return resources(it=given)["it"]


@pytest.mark.parametrize(
    ("given", "takes", "can", "cannot"),
    [
        ({"kind": "quantity"}, 1, 10, 11),
        ({"kind": "discrete"}, 0, 10, 11),
        ({"kind": "highlander"}, 1, 1, 2),
        ({"kind": "rate", "rate": 5}, 1, 1, 2),
        ({"kind": "concurrency"}, 1, 1, 2),
    ],
)
def test_every_kind_has_its_defaults(given: dict[str, Any], takes: int, can: int, cannot: int) -> None:
    settings = one(**given)
    assert settings.consumption == takes
    assert settings.manager().can_ever(Request(can))
    assert not settings.manager().can_ever(Request(cannot))


def test_items_may_be_written_with_commas() -> None:
    assert one(kind="discrete", items="a, b").items == ("a", "b")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kind": "quantity", "items": ["a"]}, "Extra inputs"),
        ({"kind": "gold"}, "does not match any of the expected tags"),
        ({"kind": "quantity", "quantity": -1}, "greater than or equal to 0"),
        ({"kind": "discrete", "items": ["a", "a"]}, "'a' is there twice"),
        ({"kind": "discrete", "items": ["a b"]}, "match pattern"),
        ({"kind": "rate"}, "required"),
        ({"kind": "rate", "rate": 0}, "greater than or equal to 0.0001"),
        ({"kind": "rate", "rate": "nan"}, "rate"),
        ({"kind": "highlander", "consumption": 2}, "less than or equal to 1"),
        ({"kind": "quantity", "on_shortage": "wait"}, "'hold' or 'skip'"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        one(**given)


def test_a_name_must_fit_into_an_environment_variable() -> None:
    with pytest.raises(ValidationError, match="match pattern"):
        ALL.validate_python({"the gpu": {"kind": "quantity"}})


MANAGERS = resources(
    threads={"kind": "quantity", "executors": ["ocr"]},
    gpu={"kind": "discrete"},
    memory={"kind": "quantity", "consumption": 3},
    customer={"kind": "concurrency", "limit": 2},
)


class TestWhatAJobTakes:
    def test_the_hard_default_of_a_manager_of_its_executor(self) -> None:
        assert needs_of(MANAGERS, "ocr", {}) == {"threads": Request(1)}
        assert needs_of(MANAGERS, "mail", {}) == {}

    def test_the_managers_configuration_is_above_the_hard_default(self) -> None:
        assert needs_of(MANAGERS, "mail", {"memory": None}) == {"memory": Request(3)}

    def test_the_task_is_above_that_and_the_job_above_all(self) -> None:
        assert needs_of(MANAGERS, "mail", {"memory": 5}) == {"memory": Request(5)}
        assert needs_of(MANAGERS, "mail", merge_wishes({"memory": 5}, {"memory": 7})) == {"memory": Request(7)}

    def test_a_manager_that_it_takes_nothing_of_is_not_asked(self) -> None:
        assert needs_of(MANAGERS, "ocr", merge_wishes({"threads": 1, "gpu": None}, {"threads": 0})) == {}

    def test_key_and_amount_are_settled_each_by_itself(self) -> None:
        task = {"customer": {"amount": 2, "key": "nobody"}}
        assert needs_of(MANAGERS, "mail", merge_wishes(task, {"customer": "acme"})) == {"customer": Request(2, "acme")}

    def test_an_unknown_name_is_refused_with_a_hint(self) -> None:
        with pytest.raises(ConfigError, match=r"no resource 'gpus' \(did you mean 'gpu'\?\)"):
            needs_of(MANAGERS, "ocr", {"gpus": 1})

    @pytest.mark.parametrize("wish", [-1, True, 1.5, {"amount": "2"}, {"key": 3}, {"many": 1}])
    def test_a_wish_that_makes_no_sense_is_refused(self, wish: Any) -> None:
        with pytest.raises(ConfigError, match="resource 'gpu'"):
            needs_of(MANAGERS, "ocr", {"gpu": wish})


class TestADifference:
    @pytest.mark.parametrize(
        ("before", "after", "delta"),
        [
            ({"kind": "quantity"}, {"kind": "quantity", "quantity": 7}, Delta(amount=-3)),
            (
                {"kind": "discrete", "items": "a,b"},
                {"kind": "discrete", "items": "b,c"},
                Delta(add=("c",), remove=("a",)),
            ),
            ({"kind": "rate", "rate": 1}, {"kind": "rate", "rate": 3, "burst": 2}, Delta(amount=1, rate=2_000_000)),
            ({"kind": "concurrency"}, {"kind": "concurrency", "limit": 4}, Delta(amount=3)),
            ({"kind": "highlander"}, {"kind": "highlander"}, Delta()),
        ],
    )
    def test_brings_a_manager_to_its_new_size(self, before: Any, after: Any, delta: Delta) -> None:
        assert difference(one(**before), one(**after)) == delta
        manager = one(**before).manager()
        manager.resize(delta, 0)
        fresh = one(**after).manager()
        assert all(manager.can_ever(Request(amount)) == fresh.can_ever(Request(amount)) for amount in range(12))

    def test_keeps_what_is_booked(self) -> None:
        manager = DiscreteManager(["a", "b"])
        manager.book("h", Request(1), 0)
        manager.resize(difference(one(kind="discrete", items="a,b"), one(kind="discrete", items="b")), 0)
        assert manager.state()["items"] == {"a": "h", "b": None}

    def test_between_kinds_there_is_none(self) -> None:
        with pytest.raises(ValueError, match="a quantity resource cannot become a rate one"):
            difference(one(kind="quantity"), one(kind="rate", rate=1))

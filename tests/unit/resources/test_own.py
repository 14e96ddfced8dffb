"""Managers of the user's own: finding the class, and one decision after the other."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from marie_celery.authoring.needs import NeedsOfJobs
from marie_celery.config import Settings
from marie_celery.errors import ConfigError
from marie_celery.resources import QuantityManager, RateManager, Request, difference
from marie_celery.resources.own import METHODS, Applicant, decide, manager_class
from marie_celery.resources.rate import gain_of
from marie_celery.resources.settings import OwnSettings
from tests.redis.harbour import Harbour

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "resources.md"
NOW = 1_000_000
PATH = "tests.redis.harbour:Harbour"


def own(path: str = PATH, **fields: Any) -> Any:
    return Settings(resources={"it": {"kind": "own", "manager": path, **fields}}).resources["it"]


def applicants(*amounts: int, may_be_passed: bool = False, skips: int = 0) -> list[Applicant]:
    return [Applicant(f"a{n}", Request(amount), may_be_passed, skips) for n, amount in enumerate(amounts)]


class TestTheClass:
    def test_is_found_by_its_path(self) -> None:
        assert manager_class(PATH) is Harbour
        assert isinstance(own().manager(), Harbour)

    @pytest.mark.parametrize(
        ("path", "words"),
        [
            ("nowhere:At", "cannot be imported: No module named 'nowhere'"),
            ("tests.redis.harbour:Nothing", "cannot be imported"),
            ("tests.redis.harbour:Unfinished", "has no method look, book, release"),
        ],
    )
    def test_what_is_no_manager_is_refused(self, path: str, words: str) -> None:
        with pytest.raises(ConfigError, match=words):
            manager_class(path)

    @pytest.mark.parametrize("path", ["", "harbour", "a:b:c", "a b:c"])
    def test_a_path_is_a_module_and_a_class(self, path: str) -> None:
        with pytest.raises(ValueError, match="manager"):
            own(path)

    def test_another_class_is_no_change_of_size(self) -> None:
        assert difference(own(), own("a:B")) == difference(own(), own())
        assert isinstance(OwnSettings.model_validate(own().model_dump()), OwnSettings), "as Redis keeps it"


def test_the_example_of_the_documentation_is_one() -> None:
    section = DOCUMENTATION.read_text().partition("## A manager")[2]
    (code,) = re.findall(r"```python\n(.*?class Berths.*?)```", section, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    berths = names["Berths"]
    assert all(callable(getattr(berths, method)) for method in METHODS)
    first = decide(berths(), [], applicants(20, 20, may_be_passed=True), NOW, 100)
    assert first.grants == {"a0": ("south",)}
    state = json.loads(json.dumps(first.state))
    second = decide(berths.from_state(state), ["a0"], applicants(5, 25), NOW, 100)
    assert second.grants == {"a0": ("north",), "a1": ("south",)}


class TestADecision:
    def test_the_first_in_line_is_first(self) -> None:
        decision = decide(QuantityManager(3), [], applicants(2, 2, 1), NOW, 100)
        assert (decision.grants, decision.passed, decision.passes) == ({"a0": ()}, "", 0)

    def test_what_was_given_back_counts_before_anybody_is_asked(self) -> None:
        manager = QuantityManager(2)
        manager.book("old", Request(2), NOW)
        assert decide(manager, ["old", "unknown"], applicants(2), NOW, 100).grants == {"a0": ()}

    def test_others_may_pass_where_they_are_let(self) -> None:
        decision = decide(QuantityManager(3), [], applicants(2, 2, 1, may_be_passed=True), NOW, 100)
        assert (list(decision.grants), decision.passed, decision.passes) == (["a0", "a2"], "a1", 1)

    def test_but_not_for_ever(self) -> None:
        line = applicants(5, 1, 1, 1, may_be_passed=True, skips=98)
        manager = QuantityManager(5)
        manager.book("other", Request(1), NOW)
        assert list(decide(manager, [], line, NOW, 100).grants) == ["a1", "a2"]

    def test_who_can_never_be_served_is_not_waited_for(self) -> None:
        assert list(decide(QuantityManager(3), [], applicants(9, 1), NOW, 100).grants) == ["a1"]

    def test_time_may_help(self) -> None:
        decision = decide(RateManager(gain_of(2), 2), [], applicants(2, 1), NOW, 100)
        assert (list(decision.grants), decision.retry_at_ms) == (["a0"], NOW + 500)


def test_a_job_asks_one_of_them_at_the_most() -> None:
    needs = NeedsOfJobs({"one": own(), "other": own()})
    assert needs._text("main", {"one": 20}) == '[["one", 20, ""]]'
    with pytest.raises(ConfigError, match="it asks for one and other: only one may have a manager of your own"):
        needs._text("main", {"one": 1, "other": 1})

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from marie_celery.authoring.dag import DAGS, Dag
from marie_celery.authoring.options import RunOptions
from marie_celery.errors import ConfigError
from marie_celery.schedules import schedule
from marie_celery.schedules.registry import SCHEDULES


@pytest.fixture(autouse=True)
def _empty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = dict(SCHEDULES)
    SCHEDULES.clear()
    yield
    SCHEDULES.clear()
    SCHEDULES.update(before)


@pytest.fixture
def invoice() -> Dag[..., Any]:
    def function(path: str, pages: int = 1) -> None: ...

    return Dag(function, "invoice", RunOptions())


def test_a_schedule_is_registered_under_the_name_of_its_dag(invoice: Dag[..., Any]) -> None:
    made = schedule(invoice, "0 2 * * *", args=["inbox"], soft_sla="10m")
    assert dict(SCHEDULES) == {"invoice": made}
    assert made.options == {"soft_sla": "10m"}
    assert invoice.name not in DAGS, "a schedule refers to a dag, it does not make one"


def test_a_dag_may_have_several(invoice: Dag[..., Any]) -> None:
    schedule(invoice, "0 2 * * *", args=["a"])
    schedule(invoice, "0 3 * * *", name="late", args=["b"])
    assert sorted(SCHEDULES) == ["invoice", "late"]


def test_a_module_may_be_loaded_twice_but_a_name_means_one_thing(invoice: Dag[..., Any]) -> None:
    schedule(invoice, "0 2 * * *", args=["a"])
    schedule(invoice, "0 2 * * *", args=["a"])
    with pytest.raises(ConfigError, match="two schedules are called 'invoice'"):
        schedule(invoice, "0 3 * * *", args=["a"])


@pytest.mark.parametrize(("args", "kwargs"), [([], {}), (["a", 1, 2], {}), (["a"], {"colour": 1})])
def test_arguments_that_the_dag_does_not_take_are_refused_at_once(
    invoice: Dag[..., Any], args: list[Any], kwargs: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match="schedule 'invoice' was refused: dag 'invoice'"):
        schedule(invoice, "0 2 * * *", args=args, kwargs=kwargs)
    assert not SCHEDULES

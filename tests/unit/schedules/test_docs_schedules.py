"""What docs/schedules.md and docs/alerts.md say, tried out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from celery import _state

from marie_celery.alerts import Alert
from marie_celery.alerts.callbacks import CALLBACKS
from marie_celery.alerts.courier import IN_HAND, PAUSES
from marie_celery.alerts.webhook import WHOLE_SECONDS
from marie_celery.authoring.dag import DAGS
from marie_celery.authoring.options import RunOptions
from marie_celery.schedules import Catchup, Overlap, Schedule
from marie_celery.schedules.catchup import PUNCTUAL_MS
from marie_celery.schedules.registry import SCHEDULES
from marie_celery.store.schedules import MOST_WAITING

DOCS = Path(__file__).parents[3] / "docs"
SCHEDULES_PAGE = (DOCS / "schedules.md").read_text()
ALERTS_PAGE = (DOCS / "alerts.md").read_text()


def code(page: str) -> str:
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return str(block)


@pytest.fixture(autouse=True)
def _no_trace() -> Iterator[None]:
    before: list[tuple[Any, Any]] = [(DAGS, dict(DAGS)), (SCHEDULES, dict(SCHEDULES))]
    callbacks, current = list(CALLBACKS), _state._tls.current_app
    SCHEDULES.clear()
    yield
    for registry, content in before:
        registry.clear()
        registry.update(content)
    CALLBACKS[:] = callbacks
    _state._tls.current_app = current


def test_the_schedules_on_the_page_can_be_made() -> None:
    exec(compile(code(SCHEDULES_PAGE), "schedules.md", "exec"), {"__name__": "documents"})
    assert sorted(SCHEDULES) == ["day", "invoices"]
    assert SCHEDULES["day"].overlap is Overlap.SKIP
    assert SCHEDULES["day"].options == {"priority": "high", "soft_sla": "5m"}


def test_the_table_of_fields_is_complete_and_its_defaults_are_right() -> None:
    rows = re.findall(r"^\| (`.*?) \| (.*?) \|", SCHEDULES_PAGE, re.MULTILINE)
    named = {name.strip(" `"): default.strip("`") for names, default in rows for name in names.split(",")}
    assert set(named) == set(Schedule.model_fields) - {"dag"}
    made = Schedule.make(name="n", dag="d", cron="* * * * *")
    for field in ("timezone", "catchup", "overlap"):
        assert named[field] == getattr(made, field)
    for choice in (*Catchup, *Overlap):
        assert f"`{choice}`" in SCHEDULES_PAGE
    (options,) = re.findall(r"^\| `options` .*", SCHEDULES_PAGE, re.MULTILINE)
    told = set(re.findall(r"`(\w+)`", options)) - {"options"}
    assert told == set(RunOptions.__dataclass_fields__) - {"key", "duplicates", "gate", "on_failure", "finally_"}


def test_the_table_of_clock_changes_is_right() -> None:
    ((cron, zone),) = re.findall(r"^\| 2026 \| `(.*?)` in (\S+) \|$", SCHEDULES_PAGE, re.MULTILINE)
    shown = [datetime.fromisoformat(text) for text in re.findall(r"\| (2026-\S+) \|$", SCHEDULES_PAGE, re.MULTILINE)]
    schedule = Schedule.make(name="n", dag="d", cron=cron, timezone=zone)
    for day in {moment.date() for moment in shown}:
        midnight = datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).timestamp()
        slots = list(schedule.slots(round(midnight * 1000), round(midnight + 23 * 3600) * 1000))
        assert [slot / 1000 for slot in slots] == [moment.timestamp() for moment in shown if moment.date() == day]
    assert len(shown) == 6


def test_the_figures_on_the_pages_are_those_of_the_code() -> None:
    assert PUNCTUAL_MS == 60_000
    assert "more than a minute late" in SCHEDULES_PAGE
    assert f"{MOST_WAITING:,}".replace(",", " ") + " may wait" in SCHEDULES_PAGE
    assert f"three tries, {PAUSES[0]:g} and {PAUSES[1]:g} seconds apart, and {WHOLE_SECONDS:g} seconds" in ALERTS_PAGE
    assert f"at most {IN_HAND}," in ALERTS_PAGE


def test_the_alert_on_the_page_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code(ALERTS_PAGE), "alerts.md", "exec"), {"__name__": "documents"})
    CALLBACKS[-1](Alert("sla.soft_missed", "0123456789abc", 1, dag="invoices", labels={"team": "billing"}))
    assert "has missed its soft SLA invoices {'team': 'billing'}" in capsys.readouterr().out
    told = ALERTS_PAGE[ALERTS_PAGE.index("`Alert` has") : ALERTS_PAGE.index("times are")]
    assert all(f"`{field}`" in told for field in Alert.__dataclass_fields__)

"""`marie schedules …` on a real server, with an app that the test writes."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from celery import _state
from click.testing import CliRunner, Result

from marie_celery.authoring.dag import DAGS
from marie_celery.cli.errors import MarieGroup
from marie_celery.cli.schedules import schedules
from marie_celery.embedded import EmbeddedServer
from marie_celery.extension import Marie
from marie_celery.schedules.desk import Desk
from marie_celery.schedules.registry import SCHEDULES
from marie_celery.store.schedules import Scheduling

APP = """
from celery import Celery
from marie_celery import Marie
from marie_celery.schedules import schedule

app = Celery("written", broker="redis://127.0.0.1:1/0", set_as_current=False)
marie = Marie(app)

@marie.task(executor="main")
def write(title, pages=1):
    return title

@marie.dag(name="cli_report")
def report(title="daily", pages=1):
    if title == "impossible":
        raise LookupError("no such report")
    return write(title, pages)

schedule(report, "0 2 * * *", name="from-code", timezone="Europe/Berlin")
"""

PAGE = (Path(__file__).parents[2] / "docs" / "schedules.md").read_text()
COMMANDS = re.findall(r"^    marie -A documents schedules(.*)$", PAGE, re.MULTILINE)

Command = Callable[..., Result]


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer() as running:
        yield running


@pytest.fixture
def marie(server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Marie]:
    dags, registered, current = dict(DAGS), dict(SCHEDULES), _state._tls.current_app
    SCHEDULES.clear()
    (tmp_path / "written_app.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("MARIE_REDIS_URL", server.url)
    for name in ("MARIE_CONFIG", "MARIE_LEASE_TTL_SECONDS", "MARIE_RUN_TTL_SECONDS"):
        monkeypatch.delenv(name, raising=False)
    import written_app  # type: ignore[import-not-found]

    made: Marie = written_app.marie
    made.store.client.flushall()
    desk(made).install(SCHEDULES, "written")
    yield made
    made.store.client.close()
    sys.modules.pop("written_app")
    _state._tls.current_app = current
    DAGS.clear()
    DAGS.update(dags)
    SCHEDULES.clear()
    SCHEDULES.update(registered)


def desk(marie: Marie) -> Desk:
    return Desk(Scheduling(marie.store.client, marie.settings))


@pytest.fixture
def command(marie: Marie) -> Command:
    @click.group(cls=MarieGroup)
    @click.option("-A", "--app")
    def main(app: str) -> None:
        """Like the real one."""

    main.add_command(schedules)

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(main, ["-A", "written_app", "schedules", *arguments])

    return call


def good(result: Result) -> str:
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def from_json(result: Result) -> Any:
    return json.loads(good(result))


def refused(result: Result) -> str:
    assert result.exit_code != 0
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    return result.stderr


def test_a_schedule_is_added_listed_paused_resumed_and_removed(command: Command) -> None:
    said = good(command("add", "hourly", "cli_report", "0 * * * *", "weekly", "pages=3", "-p", "high", "--jitter", "5"))
    assert said.startswith("hourly added, next at 20")
    (listed,) = [each for each in from_json(command("--json")) if each["name"] == "hourly"]
    assert {"dag": "cli_report", "args": ["weekly"], "kwargs": {"pages": 3}, "state": "on"}.items() <= listed.items()
    assert {"origin": "operator", "options": {"priority": "high"}, "jitter": 5.0}.items() <= listed.items()
    assert listed["next"] <= listed["due"] <= listed["next"] + 5_000
    assert good(command("pause", "hourly")) == "hourly paused\n"
    assert good(command("pause", "hourly")) == "hourly was paused already\n"
    table = good(command())
    assert "paused" in next(line for line in table.splitlines() if line.startswith("hourly"))
    assert good(command("resume", "hourly")).startswith("hourly resumed, next at ")
    assert good(command("resume", "hourly")).startswith("hourly was not paused")
    assert good(command("remove", "hourly")) == "hourly removed\n"
    assert [each["name"] for each in from_json(command("--json"))] == ["from-code"]


def test_the_table_shows_the_next_firing_in_the_zone_of_the_schedule(command: Command) -> None:
    line = next(line for line in good(command()).splitlines() if line.startswith("from-code"))
    assert "cli_report" in line
    assert "Europe/Berlin" in line
    assert " 02:00:00 CE" in line or " 03:00:00 CEST" in line
    assert line.rstrip().endswith("on")


def test_what_was_edited_is_shown_and_reset(command: Command) -> None:
    good(command("add", "from-code", "cli_report", "0 5 * * *", "-z", "Europe/Berlin", "--replace"))
    assert "on, edited, code says cron='0 2 * * *'" in good(command())
    assert good(command("reset", "from-code")).startswith("from-code is as code says, next at ")
    assert "edited" not in good(command())


def test_fire_makes_a_run_at_once_also_while_it_is_paused(command: Command, marie: Marie) -> None:
    good(command("pause", "from-code"))
    run = good(command("fire", "from-code")).strip()
    assert marie.reader.run(run).key.startswith("schedule:from-code:")
    answer = from_json(command("fire", "from-code", "--json"))
    assert answer["run"] != run
    assert not answer["waiting"]
    (listed,) = from_json(command("--json"))
    assert listed["run"] == answer["run"]


def test_fire_waits_for_the_last_run_if_the_schedule_says_so(command: Command, marie: Marie) -> None:
    good(command("add", "alone", "cli_report", "0 * * * *", "--overlap", "queue"))
    good(command("fire", "alone"))
    assert good(command("fire", "alone")) == "alone waits for its last run to end\n"
    assert from_json(command("fire", "alone", "--json")) == {"schedule": "alone", "run": None, "waiting": True}
    assert len(marie.reader.runs()) == 1
    assert "2 waiting" in good(command())


def test_fire_tells_why_the_dag_was_refused(command: Command) -> None:
    good(command("add", "bad", "cli_report", "0 * * * *", "impossible"))
    assert "bad was refused: LookupError: no such report" in refused(command("fire", "bad"))
    assert "last failed: LookupError" in good(command())


def test_next_shows_as_many_firings_as_asked_for(command: Command) -> None:
    good(command("add", "hourly", "cli_report", "0 * * * *", "--end", "2100-01-01T00:00:00+00:00"))
    assert len(good(command("next", "hourly")).splitlines()) == 5
    found = from_json(command("next", "hourly", "-n", "3", "--json"))
    assert [found[1]["slot"] - found[0]["slot"], found[2]["slot"] - found[1]["slot"]] == [3_600_000] * 2
    good(command("add", "over", "cli_report", "0 * * * *", "--end", "2020-01-01T00:00:00+00:00"))
    assert good(command("next", "over")) == ""
    assert "ended" in good(command())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("add", "x", "nonsense", "0 * * * *"), "there is no dag 'nonsense'; there are"),
        (("add", "x", "cli_report", "0 * * *"), "must have 5 fields"),
        (("add", "x", "cli_report", "0 99 * * *"), "is no cron expression"),
        (("add", "x", "cli_report", "0 * * * *", "-z", "Mars"), "timezone: 'Mars' is unknown"),
        (("add", "x y", "cli_report", "0 * * * *"), "name: "),
        (("add", "x", "cli_report", "0 * * * *", "a", "b", "c"), "too many positional arguments"),
        (("add", "x", "cli_report", "0 * * * *", "-p", "urgent"), "priority 'urgent'"),
        (("add", "x", "cli_report", "0 * * * *", "--start", "2026-01-01"), "start: "),
        (("add", "from-code", "cli_report", "0 * * * *"), "there is a schedule 'from-code' already"),
        (("remove", "from-code"), "is in code and would come back"),
        (("pause", "nonsense"), "there is no schedule 'nonsense'; there are from-code"),
        (("fire", "nonsense"), "there is no schedule 'nonsense'"),
        (("next", "nonsense"), "there is no schedule 'nonsense'"),
        (("reset", "nonsense"), "there is no schedule 'nonsense'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_work_is_refused(command: Command, arguments: tuple[str, ...], words: str) -> None:
    assert words in refused(command(*arguments))
    result = command(*arguments, "--json")
    assert result.exit_code != 0
    assert words in json.loads(result.stdout)["error"]


def test_the_commands_in_the_documentation_work_in_their_order(
    command: Command, marie: Marie, tmp_path: Path
) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "written_app.py").write_text(code.replace('app = Celery("documents"', 'app = Celery("fresh"'))
    sys.modules.pop("written_app")
    assert len(COMMANDS) == 8
    for line in COMMANDS:
        good(command(*shlex.split(line)))
    assert len(marie.reader.runs()) == 1

"""The commands on a real cluster, as a person or a script types them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import redis
from waiting import eventually

from marie_celery.cluster import Cluster
from marie_celery.embedded import EmbeddedServer

HERE = Path(__file__).parent
UNKNOWN_RUN = "0123456789abc"
Answer = subprocess.CompletedProcess[str]


def command_line(kind: str, app: str, *arguments: str) -> list[str]:
    if kind == "celery":
        return [sys.executable, "-m", "celery", "-A", app, "marie", *arguments]
    return [sys.executable, "-c", "from marie_celery.cli import main; main(prog_name='marie')", "-A", app, *arguments]


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "MARIE_CONFIG": "", **more}


@pytest.fixture(params=["marie", "celery"])
def call(request: pytest.FixtureRequest, cluster: Cluster) -> Callable[..., Answer]:
    def run(*arguments: str, app: str = "system_app", **more: str) -> Answer:
        line = command_line(request.param, app, *arguments)
        given = {**cluster.environment, **environment(**more)}
        return subprocess.run(line, env=given, capture_output=True, text=True, timeout=60, check=False)

    return run


def answer_of(answer: Answer) -> Any:
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def assert_refused(answer: Answer, words: str) -> None:
    assert answer.returncode != 0
    assert answer.stdout == ""
    (line,) = answer.stderr.splitlines()
    assert line.startswith("Error: ")
    assert words in line


def test_a_run_is_submitted_waited_for_and_shown(call: Callable[..., Answer], dags: ModuleType) -> None:
    done = answer_of(call("submit", "chain", "3", "--wait", "--json"))
    assert (done["state"], done["result"], done["errors"]) == ("completed", 3, {})
    shown = answer_of(call("show", done["run"], "--json"))
    assert [job["state"] for job in shown["jobs"]] == ["completed"] * 3
    job = shown["jobs"][0]["job_id"]
    assert answer_of(call("show", job, "--json"))["inputs"] == "[0]\n{}"
    assert answer_of(call("show", f"{job}.1", "--json"))["job_id"] == job, "the id as Flower shows it"
    assert done["run"] in [run["run_id"] for run in answer_of(call("runs", "--json"))]
    assert answer_of(call("cancel", done["run"], "--json")) == {"id": done["run"], "cancelled": False}


def test_a_running_job_shows_its_progress(call: Callable[..., Answer], dags: ModuleType, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    run = dags.single.submit("tell_until", [str(marker)])
    eventually(marker.exists)
    assert "40% page 4 of 10" in call("show", run.id).stdout
    shown = answer_of(call("show", run.id, "--json"))["jobs"][0]
    assert (shown["progress"], shown["progress_note"]) == (0.4, "page 4 of 10")
    marker.unlink()
    assert run.result(timeout=60) == "told"
    shown = answer_of(call("show", run.id, "--json"))["jobs"][0]
    assert (shown["progress"], shown["progress_note"]) == (1, "all pages")


def test_a_run_is_drawn_with_its_states(call: Callable[..., Answer], dags: ModuleType) -> None:
    run = dags.broken_branch.submit()
    run.wait(timeout=60)
    shown = call("show", "--graph", run.id).stdout
    for words in ("✗ fail (failed)", "– add (skipped)", "✓ add-2 (completed)", "✓ clean_up (completed)"):
        assert words in shown
    assert run.draw().text() == shown


def test_ids_are_never_cut_however_narrow_the_terminal(call: Callable[..., Answer], dags: ModuleType) -> None:
    run = dags.chain.submit(2)
    run.result(timeout=30)
    for columns in ("40", "200"):
        text = call("show", run.id, COLUMNS=columns).stdout
        assert all(f"{run.id}-00000{number}" in text for number in (0, 1))


def test_a_run_that_fails_says_why_and_exits_with_1(call: Callable[..., Answer]) -> None:
    answer = call("submit", "single", "fail", '["no luck"]', "--wait")
    assert answer.returncode == 1
    assert answer.stdout.split()[1:] == ["failed"]
    assert answer.stderr == "fail: ValueError: no luck\n"
    answer = call("submit", "single", "fail", '["no luck"]', "--wait", "--json")
    assert answer.returncode == 1
    assert json.loads(answer.stdout)["errors"] == {"fail": "ValueError: no luck"}


@pytest.mark.parametrize("verb", ["show", "cancel"])
def test_ids_that_nobody_has_are_refused(call: Callable[..., Answer], verb: str) -> None:
    assert_refused(call(verb, UNKNOWN_RUN), f"there is no run '{UNKNOWN_RUN}'")
    assert_refused(call(verb, f"{UNKNOWN_RUN}-000000"), f"there is no job '{UNKNOWN_RUN}-000000'")


@pytest.mark.parametrize("id", ["", "*", "run", "x" * 500, "0123456789abc-000000.x", "a\nb"])
def test_ids_that_are_none_are_refused(call: Callable[..., Answer], id: str) -> None:
    for verb in ("show", "cancel"):
        answer = call(verb, id, "--json")
        assert answer.returncode == 1
        assert json.loads(answer.stdout)["error"].startswith("there is no ")


def test_nothing_of_a_refused_submission_is_stored(call: Callable[..., Answer], dags: ModuleType) -> None:
    def stored() -> set[str]:
        return {key for key in dags.marie.store.client.keys("*") if ":run" in key or ":job:" in key}

    before = stored()
    assert_refused(call("submit", "nonsense"), "there is no dag 'nonsense'")
    assert_refused(call("submit", "chain", "2", "-p", "urgent"), "priority 'urgent'")
    assert_refused(call("submit", "single", "nonsense", "[]"), "KeyError: 'system_app.nonsense' (system_app.py, line ")
    assert_refused(call("submit", "single", "add", "[1e999]"), "inf")
    assert_refused(call("submit", "chain", "three"), "dag 'chain' was refused")
    assert stored() == before


def test_capacity_and_doctor_speak_json_too(call: Callable[..., Answer]) -> None:
    slots = answer_of(call("capacity", "--json"))["result"]["slots"]
    assert {"name": "main", "capacity": 2}.items() <= next(slot for slot in slots if slot["name"] == "main").items()
    report = answer_of(call("doctor", "--json"))
    assert report["ok"]
    assert {check["check"] for check in report["checks"]} == {"redis", "broker", "scheduler", "workers"}


@pytest.fixture
def forgetful() -> Iterator[str]:
    with EmbeddedServer(extra={"maxmemory-policy": "allkeys-lru"}) as server:
        yield server.url


def test_a_redis_that_may_forget_is_a_warning_and_no_error(call: Callable[..., Answer], forgetful: str) -> None:
    given = {"CELERY_BROKER_URL": forgetful, "MARIE_REDIS_URL": forgetful}
    answer = call("doctor", **given)
    assert answer.returncode == 0
    assert "! redis: maxmemory-policy is 'allkeys-lru'" in answer.stdout
    checks = answer_of(call("doctor", "--json", **given))["checks"]
    assert ("redis", "warning") in [(check["check"], check["state"]) for check in checks]
    assert call("submit", "chain", "1", **given).returncode == 0


def test_doctor_fails_when_something_is_broken(call: Callable[..., Answer]) -> None:
    nowhere = "redis://127.0.0.1:1/0"
    answer = call("doctor", CELERY_BROKER_URL=nowhere, MARIE_REDIS_URL=nowhere)
    assert answer.returncode == 1
    assert f"✗ redis: no Redis at {nowhere}" in answer.stdout
    assert "✗ broker: cannot reach the broker" in answer.stdout


def test_a_bad_option_for_celery_ends_the_worker_before_it_starts(call: Callable[..., Answer]) -> None:
    answer = call("worker", "-e", "main", "--", "--nonsense")
    assert answer.returncode == 2
    assert "No such option" in answer.stderr and "Traceback" not in answer.stderr


@pytest.fixture(params=["marie", "celery"])
def up(request: pytest.FixtureRequest) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The command `up`, started; it ends with the test at the latest."""
    line = command_line(request.param, "system_app", "up", "--json", "--slots", "1")
    given = environment(PYTHONUNBUFFERED="1")
    with subprocess.Popen(line, env=given, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        yield request.param, process
        process.terminate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_up_runs_it_all_and_leaves_nothing_behind(
    up: tuple[str, subprocess.Popen[str]], number: signal.Signals
) -> None:
    kind, process = up
    assert process.stdout
    lines = [process.stdout.readline()]
    while lines[-1] not in ("}\n", ""):
        lines.append(process.stdout.readline())
    told = json.loads("".join(lines))
    assert told["slots"] == 1
    assert {"main", "pools"} <= set(told["executors"])
    given = environment(CELERY_BROKER_URL=told["redis_url"], MARIE_REDIS_URL=told["redis_url"])
    line = command_line(kind, "system_app", "submit", "chain", "2", "--wait", "--json")
    answer = subprocess.run(line, env=given, capture_output=True, text=True, timeout=60, check=False)
    assert answer_of(answer)["result"] == 2
    with redis.Redis.from_url(told["redis_url"]) as client:
        pids = {int(client.info("server")["process_id"]), *children_of(process.pid)}
    assert len(pids) >= 4
    os.killpg(process.pid, number)
    assert process.wait(timeout=30) == 0
    eventually(lambda: not [pid for pid in pids if is_alive(pid)])
    assert not Path(told["logs"]).exists()


def children_of(pid: int) -> list[int]:
    """All below a process, however deep."""
    found = Path(f"/proc/{pid}/task/{pid}/children")
    direct = [int(child) for child in found.read_text().split()] if found.exists() else []
    return [*direct, *(below for child in direct for below in children_of(child))]


def is_alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"

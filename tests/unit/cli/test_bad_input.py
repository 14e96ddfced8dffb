"""What cannot work is refused in one clear line, before anything is stored or started."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis
from click.testing import CliRunner

from marie_celery.cli import main
from marie_celery.embedded import EmbeddedServer
from tests.unit.cli.cli_kit import HEAD, Command, WriteApp, assert_refused, assert_refused_in_json
from tests.unit.cli.fake_server import FakeServer

DAG = """
@marie.dag
def made(x=0, y=1):
    return add(x, y)
"""

REFUSED = {
    "a cycle": ("first = add(1); second = add(first); first.after(second)", "it has a cycle: add-2 → add → add-2"),
    "an unknown executor": ("add.options(executor='nowhere')(1)", "executor 'nowhere' is unknown; there are main"),
    "an unknown join": ("add.options(join='perhaps')(1)", "join rule 'perhaps' is unknown"),
    "a bad priority": ("add.options(priority=1000)(1)", "1000"),
    "too many arguments": ("add(1, 2, 3)", "too many positional arguments"),
    "an object": ("add(object())", "object"),
    "not a number": ("add(float('nan'))", "nan"),
    "a number that is too large": ("add(float('inf'))", "inf"),
    "two of a name": ("add.options(name='a')(1); add.options(name='a')(1)", "two nodes are called 'a'"),
    "nothing": ("pass", "it calls no task"),
    "an error": ("{}['key']", "KeyError: 'key' (cli_app_"),
    "an option that does not exist": ("add.options(colour='red')(1)", "unknown option colour"),
}


@pytest.fixture
def app(write_app: WriteApp) -> str:
    return write_app(DAG)


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer() as running:
        yield running


@pytest.fixture
def nothing_stored(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A real server that is as empty after the test as before."""
    monkeypatch.setenv("MARIE_REDIS_URL", server.url)
    yield
    with redis.Redis.from_url(server.url) as client:
        assert client.keys("*") == []


@pytest.mark.parametrize(("body", "words"), REFUSED.values(), ids=REFUSED)
def test_a_dag_that_cannot_run_is_refused(
    command: Command, write_app: WriteApp, nothing_stored: None, body: str, words: str
) -> None:
    app = write_app(f"\n@marie.dag\ndef broken():\n    {body}\n")
    assert_refused(command(app, "submit", "broken"), "dag 'broken' was refused", words)
    assert_refused_in_json(command(app, "submit", "broken", "--json"), "dag 'broken' was refused", words)


def test_several_problems_are_told_together(command: Command, write_app: WriteApp, nothing_stored: None) -> None:
    app = write_app("\n@marie.dag\ndef broken():\n    add(object()); add.options(executor='nowhere')(1)\n")
    lines = command(app, "submit", "broken").stderr.splitlines()
    assert lines[0].endswith("dag 'broken' was refused, 2 problems:")
    assert len(lines) == 3


def test_an_unknown_dag_is_refused_with_the_known_ones(command: Command, app: str) -> None:
    assert_refused(command(app, "submit", "nonsense"), "there is no dag 'nonsense'; there are", "made")
    assert_refused_in_json(command(app, "submit", "--json", "nonsense"), "there is no dag 'nonsense'")


OPTIONS = [
    (("-p", "urgent"), "priority 'urgent'"),
    (("-p", "1000"), "1000"),
    (("-p", "-1"), "-1"),
    (("--soft-sla", "soon"), "soon"),
    (("--hard-sla", "-5m"), "-5m"),
    (("--soft-sla", "2h", "--hard-sla", "1h"), "hard"),
    (("x=1", "x=2"), "'x' is given twice"),
    (("1", "2", "3"), "takes from 0 to 2 positional arguments but 3 were given"),
    (("z=1",), "unexpected keyword argument 'z'"),
    (("1e999",), "inf"),
    (("--key", "\udcff"), "not text in UTF-8"),
    (("\udcff",), "not text in UTF-8"),
]


@pytest.mark.parametrize(("arguments", "words"), OPTIONS, ids=[" ".join(map(ascii, given)) for given, _ in OPTIONS])
def test_bad_options_of_a_run_are_refused(
    command: Command, app: str, nothing_stored: None, arguments: tuple[str, ...], words: str
) -> None:
    assert_refused(command(app, "submit", "made", *arguments), words)
    assert_refused_in_json(command(app, "submit", "--json", "made", *arguments), words)


VERBS = [("runs",), ("show", "0123456789abc"), ("cancel", "0123456789abc"), ("capacity",), ("submit", "made")]


PROCESSES = [("scheduler",), ("worker", "-e", "main")]


@pytest.mark.parametrize("verb", [("runs",), ("submit", "made"), *PROCESSES], ids=" ".join)
def test_without_redis_a_verb_says_so(app: str, verb: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, ["-A", app, *verb])
    assert_refused(result, "no Redis at redis://127.0.0.1:1/0", "MARIE_REDIS_URL")


def test_without_redis_programs_are_told_in_json(app: str) -> None:
    assert_refused_in_json(CliRunner().invoke(main, ["-A", app, "runs", "--json"]), "no Redis at redis://127.0.0.1:1/0")


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "nonsense", "redis://127.0.0.1:99999/0"])
def test_a_bad_address_of_redis_is_named(
    command: Command, app: str, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("MARIE_REDIS_URL", url)
    assert_refused(command(app, "runs"))


@pytest.mark.parametrize("verb", [*VERBS, *PROCESSES], ids=" ".join)
def test_a_redis_that_is_too_old_is_refused(
    command: Command, app: str, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, ...]
) -> None:
    with FakeServer(version="6.0.16") as server:
        monkeypatch.setenv("MARIE_REDIS_URL", server.url)
        assert_refused(command(app, *verb), "Redis 6.0.16 is too old: marie_celery needs 6.2 or newer")


def test_a_redis_that_is_too_old_even_to_say_hello_is_refused(
    command: Command, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeServer(version="5.0.0") as server:
        monkeypatch.setenv("MARIE_REDIS_URL", server.url)
        assert_refused(command(app, "runs"))


def test_a_worker_for_an_executor_that_nobody_defined_is_refused(command: Command, app: str) -> None:
    words = "no task and no setting names the executor 'nonsense'; there are main"
    assert_refused(command(app, "worker", "--executor", "nonsense"), words)
    assert_refused(command(app, "worker", "-e", "main", "-e", "nonsense"), words)


@pytest.mark.parametrize("options", [("-P", "gevent"), ("-Pgevent",), ("--pool=eventlet",)], ids=" ".join)
def test_a_pool_that_must_patch_python_first_is_left_to_celery(app: str, options: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, ["-A", app, "worker", "-e", "main", "--", *options])
    assert_refused(result, f"for this pool write celery -A {app} marie worker")


def test_a_worker_whose_queues_are_given_twice_over_is_refused(command: Command, app: str) -> None:
    for options in (["-Q", "other"], ["-Qother"], ["--queues=other"], ["-X", "main"]):
        result = command(app, "worker", "-e", "main", "--", *options)
        assert_refused(result, options[0], "the executors say which queues")


@pytest.mark.parametrize(
    "arguments",
    [
        ("worker",),
        ("worker", "-e", "main", "--slots", "0"),
        ("worker", "-e", "main", "--slots", "many"),
        ("worker", "-e", "main", "--nonsense"),
        ("scheduler", "--loglevel", "loud"),
        ("up", "--port", "99999"),
        ("up", "--slots", "-1"),
        ("runs", "--limit", "0"),
        ("show",),
        ("cancel",),
        ("submit",),
        ("nonsense",),
    ],
    ids=" ".join,
)
def test_a_command_that_cannot_be_read_is_refused(command: Command, app: str, arguments: tuple[str, ...]) -> None:
    result = command(app, *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Usage: ")
    *_, last = result.stderr.splitlines()
    assert last.startswith("Error: ")
    assert_refused_in_json(command(app, *arguments[:1], "--json", *arguments[1:]))


def test_settings_that_are_wrong_are_named(
    command: Command, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARIE_LEASE_TTL_SECONDS", "soon")
    assert_refused(command(app, "runs"), "lease_ttl_seconds")
    monkeypatch.setenv("MARIE_CONFIG", "nowhere.yml")
    assert_refused(command(app, "runs"), "MARIE_CONFIG names 'nowhere.yml', which is not a file")


class TestTheApp:
    def test_must_be_named(self, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("APP", "CELERY_APP", "MARIE_APP"):
            monkeypatch.delenv(name, raising=False)
        assert_refused(command("", "runs"), "name the Celery app: marie -A yourmodule")
        assert_refused_in_json(command("", "runs", "--json"), "name the Celery app")
        assert_refused(command("", "up"), "name the Celery app")

    def test_must_be_bound(self, command: Command, write_app: WriteApp) -> None:
        name = write_app(head="from celery import Celery\napp = Celery('bare')\n")
        assert_refused(command(name, "runs"), "the Celery app 'bare' is not bound: write Marie(app)")

    def test_must_find_its_modules(self, command: Command, write_app: WriteApp) -> None:
        name = write_app("\napp.conf.include = ['nowhere.to.be.found']\n")
        assert_refused(command(name, "runs"), f"cannot load the modules of the app '{name}'", "nowhere")

    def test_must_have_something_to_run(self, command: Command, write_app: WriteApp) -> None:
        name = write_app(head=HEAD.partition("@marie.task")[0])
        assert_refused(command(name, "up"), f"the app '{name}' has no tasks and no executors")

    @pytest.mark.parametrize(
        ("code", "words"),
        [
            ("import nowhere", "No module named 'nowhere' (cli_app_"),
            ("1 / 0", "ZeroDivisionError: division by zero (cli_app_"),
            ("def", "SyntaxError"),
            ("from marie_celery import task\n@task\ndef f(): pass", "@task needs an executor"),
            ("x = 1", "has no attribute"),
        ],
    )
    def test_must_load(self, write_app: WriteApp, code: str, words: str) -> None:
        """`celery -A` loads it itself and says it in its own words."""
        name = write_app(head=code.replace("{", "{{"))
        assert_refused(CliRunner().invoke(main, ["-A", name, "runs"]), f"cannot load the app '{name}'", words)

    def test_must_be_there_and_be_an_app(self) -> None:
        assert_refused(CliRunner().invoke(main, ["-A", "nowhere", "runs"]), "cannot load the app 'nowhere'")
        assert_refused(CliRunner().invoke(main, ["-A", "os:sep", "runs"]), "'os:sep' is not a Celery app")
        assert_refused_in_json(CliRunner().invoke(main, ["-A", "nowhere", "runs", "--json"]), "'nowhere'")

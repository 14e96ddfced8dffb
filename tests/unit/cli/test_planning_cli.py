"""`why`, `planner`, `reprioritise`, `estimates`, on a server of their own and without any scheduler."""

from __future__ import annotations

import getpass
import json
from collections.abc import Iterator

import pytest
import redis

from marie_celery.config import Settings
from marie_celery.embedded import EmbeddedServer
from marie_celery.planning import RuntimeEstimate
from marie_celery.store.keys import attempt_id, job_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import EXECUTOR, dag, first_job, give_capacity, job_field, submit
from tests.unit.cli.cli_kit import Command, WriteApp, assert_refused, assert_refused_in_json


@pytest.fixture(scope="module")
def client() -> Iterator[redis.Redis]:
    with EmbeddedServer() as server, redis.Redis.from_url(server.url, decode_responses=True) as made:
        made.url = server.url
        yield made


@pytest.fixture
def store(client: redis.Redis) -> Store:
    client.flushall()
    return Store(client, Settings())


@pytest.fixture
def app(write_app: WriteApp, client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> str:
    name = write_app()
    monkeypatch.setenv("MARIE_REDIS_URL", client.url)
    return name


class TestWhy:
    def test_tells_the_reasons_and_what_would_change_them(self, command: Command, app: str, store: Store) -> None:
        id = first_job(store)
        result = command(app, "why", id)
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout.splitlines()[:5] == [
            f"{id} a: ready",
            "  no scheduler is at work",
            "    next: start one: marie scheduler",
            f"  no live worker serves '{EXECUTOR}'",
            f"    next: start one: marie worker --executor {EXECUTOR}",
        ]

    def test_is_json_for_programs(self, command: Command, app: str, store: Store) -> None:
        id = first_job(store)
        answer = json.loads(command(app, "why", id, "--json").stdout)
        assert (answer["id"], answer["state"], answer["name"]) == (id, "ready", "a")
        assert [reason["code"] for reason in answer["reasons"]] == ["no_scheduler", "no_worker", "in_line"]
        assert answer["reasons"][2]["facts"]["place"] == 1
        assert all(reason["next"] for reason in answer["reasons"])

    def test_takes_a_run_a_job_an_attempt_or_a_name(self, command: Command, app: str, store: Store) -> None:
        run = submit(store, dag({"a": [], "b": ["a"]}))
        child = job_id(run, 1)
        assert command(app, "why", run).stdout.startswith(f"{run} d: created\n")
        for given in ([child], [attempt_id(child, 1)], [run, "b"]):
            assert command(app, "why", *given).stdout.startswith(f"{child} b: created\n  it waits for 1 of 1 parent: a")

    def test_what_is_unknown_is_refused(self, command: Command, app: str, store: Store) -> None:
        run = submit(store)
        assert_refused(command(app, "why", "nonsense"), "there is no run 'nonsense'")
        assert_refused(command(app, "why", f"{run}-000001"), f"there is no job '{run}-000001'")
        assert_refused(command(app, "why", run, "z"), "there is no job 'z'")
        assert_refused_in_json(command(app, "why", "nonsense", "--json"), "there is no run 'nonsense'")


class TestPlanner:
    def test_shows_the_one_in_force_and_all_there_are(self, command: Command, app: str, store: Store) -> None:
        assert command(app, "planner").stdout.splitlines()[0] == "in force  global, set by nobody yet"
        command(app, "planner", "slack")
        lines = command(app, "planner").stdout.splitlines()
        assert lines == [
            f"in force  slack, set by {getpass.getuser()}",
            "settings  global (marie planner --reset)",
            "ranks by  latest_start user_priority",
            "there are global, classic, slack, hrrn, sjfs, tours, static, fifo",
        ]
        answer = json.loads(command(app, "planner", "--json").stdout)
        assert (answer["planner"], answer["by"], answer["settings"]) == ("slack", getpass.getuser(), "global")
        assert answer["policy"]["rank_keys"] == "latest_start user_priority"

    def test_a_swap_tells_how_many_jobs_it_ranks_anew(self, command: Command, app: str, store: Store) -> None:
        first_job(store)
        assert command(app, "planner", "slack").stdout == "planner slack: 1 ready job ranked anew\n"
        assert store.policy()["name"] == "slack"
        assert store.advance() == 0
        assert json.loads(command(app, "planner", "--reset", "--json").stdout) == {"planner": "global", "ranked": 1}
        assert (store.policy()["name"], store.policy()["by"]) == ("global", "settings")

    def test_a_row_of_sort_keys_is_a_planner(self, command: Command, app: str, store: Store) -> None:
        command(app, "planner", "priority, estimated_runtime")
        assert store.policy()["rank_keys"] == "priority estimated_runtime"

    def test_what_no_scheduler_would_take_is_refused(self, command: Command, app: str, store: Store) -> None:
        assert_refused(command(app, "planner", "urgent"), "there is no planner 'urgent', only global")
        assert_refused(command(app, "planner", "os:path"), "the setting 'planners' does not name 'os:path'")
        assert_refused(command(app, "planner", "level, level"), "'level' is given twice")
        assert_refused_in_json(command(app, "planner", "urgent", "--json"), "there is no planner 'urgent'")
        assert command(app, "planner", "slack", "--reset").exit_code == 2
        assert store.policy() == {}


class TestReprioritise:
    def test_changes_a_job(self, command: Command, app: str, store: Store) -> None:
        id = first_job(store)
        result = command(app, "reprioritise", id, "--priority", "high", "--soft-sla", "10m", "--hard-sla", "1h")
        assert result.stdout == f"{id} reprioritised\n"
        assert job_field(store, id, "priority") == "80"
        soft, hard = (int(job_field(store, id, field) or 0) for field in ("soft", "hard"))
        assert hard - soft == 50 * 60_000
        command(app, "reprioritise", id, "--hard-sla", "none")
        assert (job_field(store, id, "soft"), job_field(store, id, "hard")) == (str(soft), None)

    def test_changes_all_jobs_of_a_run(self, command: Command, app: str, store: Store) -> None:
        run = submit(store, dag({"a": [], "b": ["a"]}))
        answer = json.loads(command(app, "reprioritise", run, "-p", "7", "--json").stdout)
        assert answer == {"id": run, "reprioritised": True}
        assert [job_field(store, job_id(run, number), "priority") for number in range(2)] == ["7", "7"]

    def test_what_has_ended_stays(self, command: Command, app: str, store: Store) -> None:
        id = first_job(store)
        store.cancel_job(id)
        assert command(app, "reprioritise", id, "-p", "low").stdout == f"{id} had ended already\n"
        assert job_field(store, id, "priority") == "50"

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            (("-p", "urgent"), "priority 'urgent'"),
            (("--soft-sla", "soon"), "soft_sla 'soon'"),
            (("--hard-sla", "2026-01-01T00:00:00"), "has no time zone"),
            (("--soft-sla", "2h", "--hard-sla", "1h"), "hard_sla is before soft_sla"),
        ],
    )
    def test_bad_values_are_refused(
        self, command: Command, app: str, store: Store, options: tuple[str, ...], words: str
    ) -> None:
        id = first_job(store)
        assert_refused(command(app, "reprioritise", id, *options), words)
        assert_refused_in_json(command(app, "reprioritise", id, *options, "--json"), words)
        assert job_field(store, id, "soft") is None

    def test_something_must_be_said_about_something_that_is(self, command: Command, app: str, store: Store) -> None:
        assert command(app, "reprioritise", first_job(store)).exit_code == 2
        assert_refused(command(app, "reprioritise", "0" * 13, "-p", "1"), f"there is no run '{'0' * 13}'")


class TestEstimates:
    def test_shows_what_was_learned_of_each_task(self, command: Command, app: str, store: Store) -> None:
        assert command(app, "estimates").stdout == "nothing learned yet\n"
        seen = RuntimeEstimate().observe(2.0).observe(2.0)
        store.client.hset(store.keys.estimates, "app.read", seen.as_text())
        (line,) = command(app, "estimates").stdout.splitlines()[1:]
        assert line.split() == ["app.read", "2.000", "2"]
        answer = json.loads(command(app, "estimates", "--json").stdout)
        assert answer == {"app.read": {"seconds": pytest.approx(2.0), "count": 2}}

    def test_is_fed_by_the_end_of_jobs(self, command: Command, app: str, store: Store) -> None:
        give_capacity(store)
        id = first_job(store)
        (claim,) = store.dispatch([], [(id, 0)])
        store.start(id, claim.token, "w1", attempt_id(id, claim.token))
        store.finish(id, claim.token, "w1", "1")
        assert json.loads(command(app, "estimates", "--json").stdout)["t"]["count"] == 1

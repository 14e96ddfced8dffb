"""`pause`, `resume`, `dead`, `replay`, `reconcile`, on a server of their own and without any scheduler."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import redis

from marie_celery.config import Settings
from marie_celery.embedded import EmbeddedServer
from marie_celery.model.retry import FailureKind
from marie_celery.store.keys import attempt_id, job_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    EXECUTOR,
    WORKER,
    complete,
    dag,
    first_job,
    give_capacity,
    job_field,
    run_state,
    running,
    submit,
)
from tests.unit.cli.cli_kit import Command, WriteApp, assert_refused, assert_refused_in_json

UNKNOWN_RUN = "0123456789abc"
UNKNOWN_JOB = "0123456789abc-000000"


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


def failed_job(store: Store) -> str:
    """A job that failed for good, and so did its run, before `b` could begin."""
    name, token, _ = running(store, dag({"a": [], "b": ["a"]}))
    error = {"type": "KeyError", "message": "[page]", "traceback": "…"}
    store.fail(name, token, WORKER, FailureKind.FAILURE, error, give_up=True)
    return name


class TestPauseAndResume:
    @pytest.mark.parametrize("kind", ["run", "job"])
    def test_hold_back_a_run_or_a_job_and_let_it_go(self, command: Command, app: str, store: Store, kind: str) -> None:
        job = first_job(store)
        id = job if kind == "job" else job[:13]
        result = command(app, "pause", kind, id)
        assert (result.exit_code, result.stdout, result.stderr) == (0, f"{kind} {id} paused\n", "")
        assert job_field(store, job, "state") == "held"
        assert command(app, "resume", kind, id).stdout == f"{kind} {id} resumed\n"
        assert job_field(store, job, "state") == "ready"

    def test_know_tasks_and_executors(self, command: Command, app: str, store: Store) -> None:
        submit(store)
        task = f"{app}.add"
        assert command(app, "pause", "task", task).stdout == f"task {task} paused\n"
        assert store.client.smembers(store.keys.held_tasks) == {task}
        answer = json.loads(command(app, "pause", "executor", EXECUTOR, "--json").stdout)
        assert answer == {"kind": "executor", "id": EXECUTOR, "paused": True}
        assert store.client.hget(store.keys.executor(EXECUTOR), "paused") == "1"
        answer = json.loads(command(app, "resume", "executor", EXECUTOR, "--json").stdout)
        assert answer == {"kind": "executor", "id": EXECUTOR, "resumed": True}
        assert command(app, "resume", "task", task).exit_code == 0
        assert not store.client.exists(store.keys.held_tasks)

    def test_take_an_attempt_as_flower_names_it_for_its_job(self, command: Command, app: str, store: Store) -> None:
        job = first_job(store)
        assert command(app, "pause", "job", attempt_id(job, 1)).exit_code == 0
        assert job_field(store, job, "state") == "held"

    def test_tell_when_it_is_too_late(self, command: Command, app: str, store: Store) -> None:
        job = failed_job(store)
        assert command(app, "pause", "job", job).stdout == f"job {job} had ended already\n"
        assert "marie replay" in command(app, "resume", "run", job[:13]).stdout

    def test_a_cancelled_run_does_what_it_has_not_done(self, command: Command, app: str, store: Store) -> None:
        job = first_job(store)
        store.cancel_run(job[:13])
        assert command(app, "resume", "run", job[:13]).stdout == f"run {job[:13]} resumed\n"
        assert job_field(store, job, "state") == "ready"

    @pytest.mark.parametrize("verb", ["pause", "resume"])
    @pytest.mark.parametrize(
        ("kind", "id", "words"),
        [
            ("run", UNKNOWN_RUN, f"there is no run '{UNKNOWN_RUN}'"),
            ("job", UNKNOWN_JOB, f"there is no job '{UNKNOWN_JOB}'"),
            ("task", "nonsense", "there is no task 'nonsense'"),
            ("executor", "nowhere", "there is no executor 'nowhere'"),
        ],
    )
    def test_refuse_what_nobody_knows(
        self, command: Command, app: str, store: Store, verb: str, kind: str, id: str, words: str
    ) -> None:
        assert_refused(command(app, verb, kind, id), words)
        assert_refused_in_json(command(app, verb, kind, id, "--json"), words)

    def test_refuse_a_kind_that_there_is_not(self, command: Command, app: str, store: Store) -> None:
        result = command(app, "pause", "worker", "w1")
        assert result.exit_code == 2
        assert "'worker' is not one of" in result.stderr


class TestDead:
    def test_shows_what_died_of_what_and_with_which_inputs(self, command: Command, app: str, store: Store) -> None:
        job = failed_job(store)
        head, row = command(app, "dead").stdout.splitlines()
        assert head.split() == ["job", "task", "error", "when", "inputs"]
        assert row.startswith(job)
        assert "gave_up: KeyError: [page]" in row
        assert row.rstrip().endswith("[] {}")

    def test_is_json_for_programs(self, command: Command, app: str, store: Store) -> None:
        job = failed_job(store)
        (letter,) = json.loads(command(app, "dead", "--json").stdout)
        assert (letter["job"]["job_id"], letter["job"]["error"]["type"]) == (job, "KeyError")
        assert letter["inputs"] == "[]\n{}"
        assert letter["died_ms"] == store.client.zscore(store.keys.dead, job)

    def test_shows_the_newest_first_and_no_more_than_asked_for(self, command: Command, app: str, store: Store) -> None:
        first, second = failed_job(store), failed_job(store)
        store.client.zadd(store.keys.dead, {first: 1, second: 2})
        letters = json.loads(command(app, "dead", "--json").stdout)
        assert [letter["job"]["job_id"] for letter in letters] == [second, first]
        assert first not in command(app, "dead", "-n", "1").stdout

    def test_says_when_there_is_none(self, command: Command, app: str, store: Store) -> None:
        assert command(app, "dead").stdout == "no dead letters\n"
        assert json.loads(command(app, "dead", "--json").stdout) == []


class TestReplay:
    def test_runs_a_job_and_what_depends_on_it_again(self, command: Command, app: str, store: Store) -> None:
        job = failed_job(store)
        result = command(app, "replay", job)
        assert (result.exit_code, result.stdout, result.stderr) == (0, "2 jobs to run again\n", "")
        assert job_field(store, job, "state") == "ready"
        complete(store, job)
        complete(store, job_id(job[:13], 1))
        assert run_state(store, job[:13]) == "completed"

    def test_runs_it_alone_when_asked_to(self, command: Command, app: str, store: Store) -> None:
        job = failed_job(store)
        assert command(app, "replay", "--alone", job).stdout == "1 job to run again\n"
        assert job_field(store, job_id(job[:13], 1), "state") == "skipped"

    def test_runs_all_of_a_run_that_did_not_end_well(self, command: Command, app: str, store: Store) -> None:
        run = failed_job(store)[:13]
        assert json.loads(command(app, "replay", run, "--json").stdout) == {"replayed": 2, "refused": {}}

    def test_brings_all_dead_letters_back_but_those_of_open_runs(
        self, command: Command, app: str, store: Store
    ) -> None:
        ended = [failed_job(store), failed_job(store)]
        open_job, token, _ = running(store, dag({"a": [], "b": []}))
        store.fail(open_job, token, WORKER, FailureKind.FAILURE, {}, give_up=True)
        result = command(app, "replay", "--all-dead")
        assert (result.exit_code, result.stdout) == (1, "4 jobs to run again\n")
        assert f"refused: run {open_job[:13]} is active" in result.stderr
        assert {job_field(store, job, "state") for job in ended} == {"ready"}
        assert store.client.zrange(store.keys.dead, 0, -1) == [open_job]

    def test_one_refusal_does_not_hold_up_the_others(self, command: Command, app: str, store: Store) -> None:
        job = failed_job(store)
        result = command(app, "replay", UNKNOWN_JOB, job, "--json")
        assert result.exit_code == 1
        answer = json.loads(result.stdout)
        assert answer == {"replayed": 2, "refused": {UNKNOWN_RUN: f"there is no run '{UNKNOWN_RUN}'"}}

    @pytest.mark.parametrize("arguments", [[], ["--all-dead", UNKNOWN_JOB]])
    def test_wants_ids_or_all_and_not_both(
        self, command: Command, app: str, store: Store, arguments: list[str]
    ) -> None:
        result = command(app, "replay", *arguments)
        assert result.exit_code == 2
        assert "or --all-dead" in result.stderr

    @pytest.mark.parametrize("id", ["nonsense", "0123456789abc-x", "x" * 30])
    def test_refuses_what_is_no_id(self, command: Command, app: str, store: Store, id: str) -> None:
        assert_refused(command(app, "replay", id), "there is no", id)


class TestReconcile:
    def test_finds_nothing_where_all_is_well(self, command: Command, app: str, store: Store) -> None:
        running(store)
        result = command(app, "reconcile")
        assert (result.exit_code, result.stdout) == (0, "everything is where it should be\n")
        assert json.loads(command(app, "reconcile", "--json").stdout) == {"healed": {}}

    def test_puts_right_what_is_not_and_tells_by_its_exit_code(self, command: Command, app: str, store: Store) -> None:
        job = first_job(store)
        store.client.delete(store.keys.new(EXECUTOR))
        result = command(app, "reconcile")
        assert (result.exit_code, result.stdout.splitlines()) == (
            1,
            [f"{job} was ready without a place: put right", "1 job put right"],
        )
        assert command(app, "reconcile").exit_code == 0
        give_capacity(store)
        complete(store, job)

"""The verbs of an operator, on a server of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from celery import Celery

from marie_celery import Marie
from marie_celery.embedded import EmbeddedServer
from marie_celery.errors import MarieError, UnknownJob, UnknownRun
from marie_celery.model.retry import FailureKind
from marie_celery.operations import Operations
from marie_celery.store.keys import job_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    EXECUTOR,
    WORKER,
    begin,
    complete,
    dag,
    first_job,
    give_capacity,
    job_field,
    run_state,
    running,
    states,
    submit,
)

UNKNOWN_RUN = "0123456789abc"
CHAIN = {"a": [], "b": ["a"], "c": ["b"]}


@pytest.fixture(scope="module")
def marie() -> Iterator[Marie]:
    with EmbeddedServer() as server:
        app = Celery("operations", broker=server.url, set_as_current=False)
        made = Marie(app)

        @made.task(executor=EXECUTOR, name="known")
        def known() -> None: ...

        app.finalize()
        yield made
        made.store.client.close()


@pytest.fixture
def store(marie: Marie) -> Store:
    marie.store.client.flushall()
    return marie.store


@pytest.fixture
def operations(marie: Marie, store: Store) -> Operations:
    return marie.operations


def fails(store: Store, job: str) -> None:
    assert store.fail(job, begin(store, job), WORKER, FailureKind.FAILURE, {"type": "E"}, give_up=True) == "failed"


def failed_in_the_middle(store: Store) -> str:
    """A chain of which the first job was completed and the second failed."""
    give_capacity(store)
    run = submit(store, dag(CHAIN))
    complete(store, job_id(run, 0))
    fails(store, job_id(run, 1))
    assert run_state(store, run) == "failed"
    return run


class TestCancel:
    def test_ends_a_run_or_a_job_once(self, operations: Operations, store: Store) -> None:
        run = submit(store, dag(CHAIN))
        assert operations.cancel(job_id(run, 2), "not needed", "me")
        assert job_field(store, job_id(run, 2), "reason") == "not needed"
        assert operations.cancel(run)
        assert run_state(store, run) == "cancelled"
        assert not operations.cancel(run)
        assert not operations.cancel(job_id(run, 2))


class TestPauseAndResume:
    def test_a_run_stands_still_and_goes_on(self, operations: Operations, store: Store) -> None:
        job = first_job(store)
        assert operations.pause("run", job[:13])
        assert (run_state(store, job[:13]), job_field(store, job, "state")) == ("paused", "held")
        assert operations.resume("run", job[:13])
        assert (run_state(store, job[:13]), job_field(store, job, "state")) == ("created", "ready")

    def test_a_cancelled_run_does_what_it_has_not_done(self, operations: Operations, store: Store) -> None:
        give_capacity(store)
        run = submit(store, dag(CHAIN))
        complete(store, job_id(run, 0))
        operations.cancel(run)
        assert operations.resume("run", run)
        assert states(store, run) == {"a": "completed", "b": "ready", "c": "created"}

    def test_a_run_that_came_to_another_end_is_not_resumed(self, operations: Operations, store: Store) -> None:
        run = failed_in_the_middle(store)
        assert not operations.resume("run", run)
        assert run_state(store, run) == "failed"

    def test_a_task_must_be_one_of_the_app(self, operations: Operations, store: Store) -> None:
        assert operations.pause("task", "known")
        assert operations.resume("task", "known")
        with pytest.raises(MarieError, match=r"there is no task 'unknown'; there are .*known"):
            operations.pause("task", "unknown")


class TestReplay:
    def test_a_run_does_again_what_did_not_end_well(self, operations: Operations, store: Store) -> None:
        run = failed_in_the_middle(store)
        assert operations.replay([run]) == 2
        assert states(store, run) == {"a": "completed", "b": "ready", "c": "created"}
        complete(store, job_id(run, 1))
        complete(store, job_id(run, 2))
        assert run_state(store, run) == "completed"

    def test_a_job_goes_with_what_depends_on_it(self, operations: Operations, store: Store) -> None:
        run = failed_in_the_middle(store)
        assert operations.replay([job_id(run, 0)]) == 3
        assert states(store, run) == {"a": "ready", "b": "created", "c": "created"}

    def test_a_job_goes_alone_when_asked_to(self, operations: Operations, store: Store) -> None:
        run = failed_in_the_middle(store)
        assert operations.replay([job_id(run, 1)], with_descendants=False) == 1
        complete(store, job_id(run, 1))
        assert states(store, run) == {"a": "completed", "b": "completed", "c": "skipped"}

    def test_a_run_and_one_of_its_jobs_are_the_run(self, operations: Operations, store: Store) -> None:
        run = failed_in_the_middle(store)
        assert operations.replay([job_id(run, 0), run, job_id(run, 0)]) == 2

    def test_a_run_that_ended_well_has_nothing_to_do_again(self, operations: Operations, store: Store) -> None:
        give_capacity(store)
        job = first_job(store)
        complete(store, job)
        assert operations.replay([job[:13]]) == 0
        assert run_state(store, job[:13]) == "completed"

    def test_what_runs_is_not_replayed(self, operations: Operations, store: Store) -> None:
        job, _, _ = running(store)
        with pytest.raises(MarieError, match="is active: only what has ended"):
            operations.replay([job])
        with pytest.raises(MarieError, match="it can be replayed when it has ended"):
            store.replay(job[:13], ["0 0 0 0"], 0)

    def test_what_nobody_knows_is_refused(self, operations: Operations, store: Store) -> None:
        run = failed_in_the_middle(store)
        with pytest.raises(UnknownRun):
            operations.replay([UNKNOWN_RUN])
        with pytest.raises(UnknownJob):
            operations.replay([job_id(run, 9)])
        assert run_state(store, run) == "failed"


class TestDead:
    def test_the_newest_comes_first_with_error_and_inputs(self, operations: Operations, store: Store) -> None:
        runs = [failed_in_the_middle(store) for _ in range(3)]
        store.client.zadd(store.keys.dead, {job_id(run, 1): number for number, run in enumerate(runs)})
        newest, second = operations.dead(limit=2)
        assert [newest.job.job_id, second.job.job_id] == [job_id(runs[2], 1), job_id(runs[1], 1)]
        assert (newest.job.error, newest.inputs, newest.died_ms) == ({"type": "E"}, "[]\n{}", 2)

    def test_a_replay_takes_it_off_the_list(self, operations: Operations, store: Store) -> None:
        operations.replay([failed_in_the_middle(store)])
        assert operations.dead() == []


class TestReconcile:
    def test_finds_nothing_where_all_is_well(self, operations: Operations, store: Store) -> None:
        failed_in_the_middle(store)
        running(store)
        assert operations.reconcile() == {}

    def test_puts_right_open_runs_that_have_not_begun_too(self, operations: Operations, store: Store) -> None:
        job = first_job(store)
        store.client.delete(store.keys.new(EXECUTOR))
        assert operations.reconcile() == {job: "ready without a place"}
        assert operations.reconcile() == {}

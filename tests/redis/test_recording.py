"""Finished runs become records that the simulation can replay."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from marie_celery.cli import main
from marie_celery.cli.simulation import simulate
from marie_celery.config import Settings
from marie_celery.embedded import EmbeddedServer
from marie_celery.model.retry import FailureKind, RetryPolicy
from marie_celery.simulation import compare, from_records
from marie_celery.store.keys import job_id
from marie_celery.store.recording import PAGE, Recorder, Recording
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    EXECUTOR,
    NOW,
    WORKER,
    advance_to_the_end,
    begin,
    complete,
    dag,
    give_capacity,
    job,
    new_run,
    submit,
)

ERROR = {"type": "E", "message": "m"}


def record(store: Store, limit: int = 1_000) -> Recording:
    return Recorder(store.client, store.keys).record(limit)


def run_for(store: Store, job: str, took_ms: int) -> None:
    """Begin a ready job now and complete it later."""
    token = begin(store, job)
    store.now_ms = (store.now_ms or 0) + took_ms
    assert store.finish(job, token, WORKER, "1")


def runtimes(recording: Recording) -> list[list[int]]:
    return [[each["runtime_ms"] for each in run["jobs"]] for run in recording.runs]


def children(recording: Recording) -> list[list[int]]:
    (run,) = recording.runs
    return [each["children"] for each in run["jobs"]]


def test_a_finished_run_is_recorded_with_the_runtimes_of_its_jobs(store: Store) -> None:
    give_capacity(store)
    diamond = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}
    run = submit(store, dag(diamond, priority=80, soft=NOW + 500, hard=NOW + 900))
    for number, took_ms in enumerate((10, 200, 3_000, 40_000)):
        run_for(store, job_id(run, number), took_ms)
    recorded = record(store)
    assert recorded.incomplete == 0
    (found,) = recorded.runs
    assert (found["arrival_ms"], found["priority"]) == (NOW, 80)
    assert (found["soft_sla_ms"], found["hard_sla_ms"]) == (NOW + 500, NOW + 900)
    assert runtimes(recorded) == [[10, 200, 3_000, 40_000]]
    assert children(recorded) == [[1, 2], [3], [3], []]
    assert {(each["task"], each["executor"]) for each in found["jobs"]} == {("t", EXECUTOR)}


def test_what_a_job_got_from_its_run_is_not_repeated_and_what_is_its_own_is_kept(store: Store) -> None:
    give_capacity(store)
    jobs = [job("a"), job("b", priority=99, soft=NOW + 7, hard=NOW + 8)]
    run = submit(store, new_run(jobs, soft=NOW + 500, hard=NOW + 900))
    for number in range(2):
        complete(store, job_id(run, number))
    (found,) = record(store).runs
    own = [(each["priority"], each["soft_sla_ms"], each["hard_sla_ms"]) for each in found["jobs"]]
    assert own == [(None, None, None), (99, NOW + 7, NOW + 8)]


def test_the_last_attempt_counts(store: Store) -> None:
    give_capacity(store)
    run = submit(store, new_run([job()], policy=RetryPolicy(retry_delay=0)))
    token = begin(store, job_id(run, 0))
    store.now_ms = NOW + 5_000
    assert store.fail(job_id(run, 0), token, WORKER, FailureKind.FAILURE, ERROR) == "ready"
    run_for(store, job_id(run, 0), 70)
    assert runtimes(record(store)) == [[70]]


def test_a_run_that_has_not_ended_is_not_recorded(store: Store) -> None:
    give_capacity(store)
    run = submit(store, dag({"a": [], "b": ["a"]}))
    complete(store, job_id(run, 0))
    assert record(store) == Recording([], 0)


def test_a_failed_job_held_its_slot_too(store: Store) -> None:
    give_capacity(store)
    run = submit(store, dag({"a": [], "b": ["a"]}))
    token = begin(store, job_id(run, 0))
    store.now_ms = NOW + 300
    store.fail(job_id(run, 0), token, WORKER, FailureKind.FAILURE, ERROR, give_up=True)
    assert runtimes(record(store)) == [[300]]


def test_a_skipped_job_is_left_out_and_its_children_wait_for_its_parents(store: Store) -> None:
    give_capacity(store)
    shape = {"a": [], "b": ["a"], "c": ["b"], "d": ["a", "c"], "e": ["c"]}
    rules = {"d": "all_done", "e": "all_done"}
    run = submit(store, dag(shape, rules))
    a, b, _, d, e = (job_id(run, number) for number in range(5))
    complete(store, a)
    assert store.skip(b, begin(store, b), WORKER, "nothing to do")
    run_for(store, d, 1)
    run_for(store, e, 2)
    recorded = record(store)
    assert runtimes(recorded) == [[0, 0, 1, 2]]
    assert children(recorded) == [[1, 2], [2, 3], [], []]


def test_a_run_in_which_nothing_ran_is_no_workload(store: Store) -> None:
    run = submit(store)
    store.cancel_run(run)
    advance_to_the_end(store)
    assert record(store) == Recording([], 0)


def test_parents_come_first_whatever_their_numbers(store: Store) -> None:
    give_capacity(store)
    late, early = job("late", deps=1, parents=1, level=1), job("early", children="0")
    run = submit(store, new_run([late, early], roots=[1]))
    run_for(store, job_id(run, 1), 11)
    run_for(store, job_id(run, 0), 22)
    assert runtimes(record(store)) == [[11, 22]]
    assert children(record(store)) == [[1], []]


def test_a_run_that_the_capped_stream_has_lost_a_part_of_is_counted_and_left_out(store: Store) -> None:
    give_capacity(store)
    run_for(store, job_id(submit(store), 0), 1)
    cut_after(store, to="dispatched")
    run_for(store, job_id(submit(store), 0), 2)
    assert runtimes(record(store)) == [[1], [2]]
    cut_after(store, to="active")
    assert record(store).incomplete == 1
    assert runtimes(record(store)) == [[2]]


def cut_after(store: Store, to: str) -> None:
    """Forget the events up to the first job that went to this state."""
    events = store.client.xrange(store.keys.events)
    last = next(number for number, (_, event) in enumerate(events) if "job" in event and event["to"] == to)
    store.client.xdel(store.keys.events, *[event_id for event_id, _ in events[: last + 1]])


def finish_runs(store: Store, took_ms: Sequence[int]) -> None:
    give_capacity(store)
    for each in took_ms:
        run_for(store, job_id(submit(store), 0), each)


def test_the_newest_runs_are_recorded_in_the_order_of_submission(store: Store) -> None:
    finish_runs(store, [1, 2, 3, 4])
    assert runtimes(record(store, limit=2)) == [[3], [4]]


def test_more_runs_jobs_and_events_than_a_page_are_read_to_the_end(fake_store: Store) -> None:
    give_capacity(fake_store)
    many = PAGE + 20
    run = submit(fake_store, new_run([job() for _ in range(many)]))
    for number in range(many):
        complete(fake_store, job_id(run, number))
    finish_runs(fake_store, [1] * many)
    recorded = record(fake_store, limit=10_000)
    assert recorded.incomplete == 0
    assert [len(each["jobs"]) for each in recorded.runs] == [many] + [1] * many


def test_a_recording_can_be_simulated(store: Store) -> None:
    finish_runs(store, [1_000, 2_000, 3_000])
    workload = from_records(Settings().namespace, {EXECUTOR: 1}, record(store).runs)
    (fifo,) = compare(workload, ["fifo"]).results
    assert fifo.makespan == 6.0


class TestTheCommand:
    @pytest.fixture(autouse=True)
    def app(self, server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """An app on the server of `real_store`, to be named on the command line."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", list(sys.path))
        imports = "from celery import Celery\nfrom marie_celery import Marie\n"
        bound = f"app = Celery('recorded', broker='{server.url}')\nmarie = Marie(app)\n"
        Path("recorded_app.py").write_text(imports + bound)
        yield
        sys.modules.pop("recorded_app", None)

    def call(self, *arguments: str) -> Result:
        # Registered or not, the command is found.
        marie: click.Group = copy.copy(main)
        marie.commands = {"simulate": simulate}
        return CliRunner().invoke(marie, ["-A", "recorded_app", "simulate", "--recorded", *arguments])

    def test_finished_runs_of_the_cluster_are_replayed_with_its_slots(self, real_store: Store) -> None:
        finish_runs(real_store, [1_000, 2_000, 3_000])
        done = self.call("--json", "-p", "fifo")
        assert done.exit_code == 0, done.output
        (found,) = json.loads(done.stdout)
        assert (found["workload"], found["runs"], found["jobs"]) == ("recorded from marie", 3, 3)
        assert found["results"][0]["makespan"] == 6.0

    def test_what_is_recorded_can_be_saved_and_simulated_elsewhere(self, real_store: Store) -> None:
        finish_runs(real_store, [1_000, 2_000, 3_000])
        assert self.call("--last", "2", "--save", "day.jsonl").exit_code == 0
        head, *runs = Path("day.jsonl").read_text().splitlines()
        assert json.loads(head) == {"slots": {EXECUTOR: 10}}
        assert [json.loads(run)["jobs"][0]["runtime_ms"] for run in runs] == [2_000, 3_000]

    def test_runs_that_are_left_out_are_mentioned(self, real_store: Store) -> None:
        finish_runs(real_store, [1, 2])
        cut_after(real_store, to="active")
        done = self.call("-p", "fifo")
        assert done.exit_code == 0
        assert done.stderr == "left out 1 runs that the event stream has lost a part of\n"

    def test_executors_whose_workers_have_left_need_slots_on_the_command_line(self, real_store: Store) -> None:
        finish_runs(real_store, [1, 2])
        real_store.leave(WORKER)
        assert "needs the executor 'ocr', which has no slots" in self.call().stderr
        assert self.call("--slots", "ocr=2").exit_code == 0

    def test_without_finished_runs_there_is_nothing_to_replay(self, real_store: Store) -> None:
        done = self.call()
        assert done.exit_code == 1
        assert done.stderr == "Error: there are no finished runs to replay\n"

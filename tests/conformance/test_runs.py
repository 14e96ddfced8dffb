"""Runs as they are written: order, arguments, results, retries, ends."""

from __future__ import annotations

from types import ModuleType

import pytest

from marie_celery import DagError, JoinRule, RunFailed, RunState
from marie_celery.store.keys import is_job_id, job_id, run_of
from marie_celery.testing import assert_order, attempts, order, reasons, states
from tests.conformance.conftest import RunDag


def test_every_job_runs_once_and_parents_first(run: RunDag, dags: ModuleType) -> None:
    ended = run(dags.layered, 4, 5)
    assert ended.result() == 780
    assert len(order(ended)) == len(set(order(ended))) == 24
    assert_order(ended, "add", "total", "add-6", "total-2", "add-11", "total-3")


def test_a_merge_joins_layers_without_a_worker(run: RunDag, dags: ModuleType) -> None:
    ended = run(dags.merged, 6)
    assert ended.result() == 12
    assert attempts(ended)["merge"] == 0
    assert reasons(ended)["merge"] == "merge"


def test_models_and_dataclasses_travel_by_their_annotations(run: RunDag, dags: ModuleType) -> None:
    result = run(dags.billed, 5).result()
    assert result == dags.Invoice(number=8, due=result.due)


def test_references_reach_into_results_and_literals_stay_what_they_are(run: RunDag, dags: ModuleType) -> None:
    assert run(dags.parts).result() == {
        "literal": {"a": [1, {"b": "deep"}], "$ref": 7},
        "part": "deep",
        "of nothing": None,
    }


def test_values_are_what_json_makes_of_them(run: RunDag, dags: ModuleType) -> None:
    for value in ([], {}, "", None, False, 0, 2**60, 0.1, "ü\n\"", [[], {}], {"$literal": 1}):
        assert run(dags.one, "say", [value]).result() == value


def test_a_job_knows_itself(run: RunDag, dags: ModuleType) -> None:
    ended = run(dags.one, "who", [])
    assert ended.result() == {
        "job": job_id(ended.id, 0),
        "run": ended.id,
        "dag": "conform-one",
        "name": "who",
        "task": "conformance_app.who",
        "executor": "main",
        "attempt": 1,
        "token": 1,
    }
    (job,) = ended.jobs()
    assert is_job_id(job.job_id) and run_of(job.job_id) == ended.id


def test_a_failing_job_is_tried_again_until_it_succeeds(run: RunDag, dags: ModuleType) -> None:
    ended = run(dags.one, "succeed_on_attempt", [3])
    assert (ended.result(), order(ended)) == (3, ["succeed_on_attempt"] * 3)
    assert run(dags.one, "again_later", []).result() == 2


@pytest.mark.parametrize(
    ("task", "args", "reason", "tries", "error"),
    [
        ("succeed_on_attempt", [9], "failed", 3, "RuntimeError: attempt 3 fails"),
        ("fail", ["no luck"], "failed", 1, "ValueError: no luck"),
        ("give_up", [], "gave_up", 1, "HopelessError: there is no use"),
        ("fail_otherwise", [], "gave_up", 1, "ValueError: not what is tried again"),
        ("huge", [], "gave_up", 1, "max_result_bytes is 1048576"),
        ("unspeakable", [], "gave_up", 1, "cannot be carried as JSON"),
    ],
)
def test_a_job_fails_for_good(
    run: RunDag, dags: ModuleType, task: str, args: list[object], reason: str, tries: int, error: str
) -> None:
    ended = run(dags.one, task, args)
    assert (states(ended), reasons(ended), attempts(ended)) == ({task: "failed"}, {task: reason}, {task: tries})
    with pytest.raises(RunFailed, match=error) as failed:
        ended.result()
    assert (failed.value.run_id, failed.value.state, list(failed.value.errors)) == (ended.id, "failed", [task])
    (job,) = ended.jobs()
    assert job.error is not None and "traceback" in job.error


def test_a_task_may_skip_itself(run: RunDag, dags: ModuleType) -> None:
    ended = run(dags.one, "skip", ["nothing to do"])
    assert ended.result() is None
    assert (states(ended), reasons(ended)) == ({"skip": "skipped"}, {"skip": "nothing to do"})


def test_a_failure_skips_what_depends_on_it_and_spares_the_rest(run: RunDag, dags: ModuleType) -> None:
    ended = run(dags.broken_branch)
    assert ended.wait() is RunState.FAILED
    assert states(ended) == {
        "fail": "failed", "add": "skipped", "clean": "completed", "add-2": "completed", "add-3": "skipped",
    }  # fmt: skip
    assert reasons(ended)["add"] == reasons(ended)["add-3"] == "upstream_failed"


def test_fail_fast_cancels_the_rest_at_once(run: RunDag, dags: ModuleType) -> None:
    ended = run(dags.impatient)
    assert ended.wait() is RunState.FAILED
    assert ended.status().reason == "fail_fast"
    assert states(ended) == {
        "fail": "failed", "succeed_on_attempt": "cancelled", "add": "cancelled", "add-2": "cancelled",
    }  # fmt: skip


C, F, S = "completed", "failed", "skipped"
RAN, UPSTREAM, ALL_SKIPPED = (C, ""), (S, "upstream_failed"), (S, "all_parents_skipped")
JOINS = {
    JoinRule.ALL_SUCCESS: [((C, C), RAN), ((C, S), RAN), ((S, S), ALL_SKIPPED), ((C, F), UPSTREAM), ((S, F), UPSTREAM)],
    JoinRule.ALL_DONE: [((C, S), RAN), ((S, S), RAN), ((C, F), RAN), ((F, F), RAN)],
    JoinRule.ONE_SUCCESS: [((C, F), RAN), ((C, S), RAN), ((S, F), UPSTREAM), ((S, S), ALL_SKIPPED)],
    JoinRule.NONE_FAILED: [((C, C), RAN), ((S, S), RAN), ((C, F), UPSTREAM)],
    JoinRule.ONE_FAILED: [((C, F), RAN), ((S, F), RAN), ((C, C), ALL_SKIPPED), ((C, S), ALL_SKIPPED)],
}


@pytest.mark.parametrize("rule", JOINS)
def test_a_join_follows_its_rule(run: RunDag, dags: ModuleType, rule: JoinRule) -> None:
    for parents, expected in JOINS[rule]:
        ended = run(dags.joined, list(parents), rule.value)
        assert (states(ended)["join"], reasons(ended)["join"]) == expected, (rule, parents)


def test_a_bad_dag_is_refused_with_all_its_problems_at_once(run: RunDag, dags: ModuleType) -> None:
    with pytest.raises(DagError) as refused:
        run(dags.one.options(priority="urgent", soft_sla="1h", hard_sla="1m"), "add", [object()])
    assert len(refused.value.problems) == 3
    assert "priority 'urgent'" in str(refused.value)


def test_a_run_tells_what_it_was_submitted_with(run: RunDag, dags: ModuleType) -> None:
    ended = run(dags.layered.options(priority="high", labels={"by": "me"}, soft_sla="1h"), 1, 2)
    status = ended.status()
    assert (status.dag, status.priority, status.labels) == ("conform-layered", 80, {"by": "me"})
    assert (status.jobs, status.done) == (3, 3)
    assert status.state is RunState.COMPLETED and status.soft_ms is not None and status.hard_ms is None

"""Why a job does not run: one test for every reason, on the state that brings it about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marie_celery import branch
from marie_celery.config import Settings
from marie_celery.errors import UnknownJob, UnknownRun
from marie_celery.model.retry import FailureKind
from marie_celery.planning import planner
from marie_celery.planning.policy import policy_fields
from marie_celery.planning.share import interleave
from marie_celery.store.keys import attempt_id, job_id
from marie_celery.store.life import CHUNK
from marie_celery.store.store import Store
from marie_celery.store.why import Because, Reason, why
from marie_celery.store.why.snapshot import ClusterFacts, ExecutorFacts, JobFacts
from marie_celery.store.why.standing import ahead_of
from tests.redis.graph_kit import end, expand, last, named, started, work
from tests.redis.graph_kit import job as graph_job
from tests.redis.redis_runs import (
    EXECUTOR,
    NOW,
    WORKER,
    begin,
    changes,
    complete,
    dag,
    dispatch,
    first_job,
    give_capacity,
    job,
    new_run,
    submit,
)

SECOND = 1000


@pytest.fixture
def at_work(store: Store) -> Store:
    """A cluster in which nothing is missing."""
    store.enlist("s1", {"host": "h"}, exclusive=False)
    give_capacity(store)
    return store


def only(store: Store, id: str, code: Because) -> Reason:
    """The one reason that there is."""
    (reason,) = why(store, id).reasons
    assert reason.code is code
    assert reason.next
    return reason


def first(store: Store, id: str, code: Because) -> Reason:
    """What weighs most."""
    reason = why(store, id).reasons[0]
    assert reason.code is code
    assert reason.next
    return reason


def test_asking_changes_nothing(at_work: Store) -> None:
    run = submit(at_work, dag({"a": [], "b": ["a"]}))
    with changes(at_work) as changed:
        for id in (run, job_id(run, 0), job_id(run, 1)):
            assert why(at_work, id).reasons
    assert changed == {}


@pytest.mark.parametrize("id", ["0" * 13 + "-000000", "0" * 13 + "-nonsense", "0" * 13 + "-000000.1"])
def test_an_unknown_job_is_an_error(store: Store, id: str) -> None:
    with pytest.raises(UnknownJob):
        why(store, id)


@pytest.mark.parametrize("id", ["0" * 13, "nonsense"])
def test_an_unknown_run_is_an_error(store: Store, id: str) -> None:
    with pytest.raises(UnknownRun):
        why(store, id)


class TestParents:
    def test_those_that_have_not_ended_are_named_with_their_states(self, at_work: Store) -> None:
        run = submit(at_work, dag({"a": [], "b": [], "c": ["b"], "join": ["a", "b", "c"]}))
        complete(at_work, job_id(run, 0))
        begin(at_work, job_id(run, 1))
        reason = only(at_work, job_id(run, 3), Because.PARENTS)
        assert reason.text == "it waits for 2 of 3 parents: c (created), b (active)"
        assert reason.next == "the end of c"
        assert reason.facts["waiting"] == [
            {"job": job_id(run, 2), "name": "c", "state": "created"},
            {"job": job_id(run, 1), "name": "b", "state": "active"},
        ]

    def test_they_are_found_behind_their_child_too(self, at_work: Store) -> None:
        jobs = [job("child", deps=1, parents=1, level=1), job("x"), job("parent", children="0")]
        run = submit(at_work, new_run(jobs, roots=[1, 2]))
        assert only(at_work, job_id(run, 0), Because.PARENTS).text == "it waits for 1 of 1 parent: parent (ready)"

    def test_of_many_the_first_are_named_and_the_others_counted(self, at_work: Store) -> None:
        names = [f"p{number}" for number in range(600)]
        run = submit(at_work, dag({**{name: [] for name in names}, "join": names}))
        reason = only(at_work, job_id(run, 600), Because.PARENTS)
        assert reason.text.startswith("it waits for 600 of 600 parents: p599 (ready), ")
        assert reason.text.endswith(" and 595 more")

    def test_a_rule_that_is_not_the_usual_one_is_told(self, at_work: Store) -> None:
        run = submit(at_work, dag({"a": [], "b": ["a"]}, rules={"b": "all_done"}))
        assert only(at_work, job_id(run, 1), Because.PARENTS).text.endswith("(join rule all_done)")


def test_a_root_that_one_call_could_not_release(at_work: Store) -> None:
    run = submit(at_work, new_run([job(f"j{number}") for number in range(1500)]))
    reason = only(at_work, job_id(run, 1400), Because.UNRELEASED)
    assert reason.facts == {"pieces": 1}
    at_work.advance()
    assert why(at_work, job_id(run, 1400)).codes == [Because.IN_LINE]


class TestTheLine:
    def test_the_first_one_is_next(self, at_work: Store) -> None:
        name = first_job(at_work)
        reason = only(at_work, name, Because.IN_LINE)
        assert reason.text == f"it is number 1 of 1 in line for '{EXECUTOR}' by the planner 'global'"
        assert reason.next == "the next choice of a scheduler"
        assert reason.facts["rank"] == {
            "new_dag": 1,
            "level": 131071,
            "priority": 1_999_949,
            "estimated_runtime": 4095,
            "burst": 1,
        }

    def test_those_ahead_are_counted_and_the_first_named(self, at_work: Store) -> None:
        run = submit(at_work, new_run([job(f"j{number}", priority=99 - number) for number in range(9)]))
        reason = only(at_work, job_id(run, 7), Because.IN_LINE)
        assert (reason.facts["place"], reason.facts["waiting"]) == (8, 9)
        assert [each["name"] for each in reason.facts["ahead"]] == ["j0", "j1", "j2", "j3", "j4"]
        assert reason.text.endswith(f"j4 of run {run} and 2 more")
        assert reason.next == "7 choices of the schedulers"

    def test_jobs_of_runs_that_have_begun_stand_before_new_ones_but_for_their_share(self, at_work: Store) -> None:
        begun = submit(at_work, new_run([job(f"a{number}") for number in range(8)]))
        complete(at_work, job_id(begun, 0))
        new = submit(at_work, new_run([job(f"n{number}") for number in range(3)]))
        expected = ["a1", "a2", "a3", "n0", "a4", "a5", "n1", "a6", "a7", "n2"]
        places = {}
        for id in (*(job_id(begun, number) for number in range(1, 8)), *(job_id(new, number) for number in range(3))):
            answer = why(at_work, id)
            places[answer.name] = answer.reasons[0].facts["place"]
        assert places == {name: place for place, name in enumerate(expected, 1)}

    def test_planners_that_do_not_prefer_active_runs_have_one_line(self, at_work: Store) -> None:
        at_work.replan(policy_fields(planner("static"), name="static"))
        begun = submit(at_work, new_run([job("a"), job("low", priority=20), job("same")]))
        complete(at_work, job_id(begun, 0))
        new = submit(at_work, new_run([job("high", priority=80), job("later")]))
        reason = only(at_work, job_id(begun, 1), Because.IN_LINE)
        assert [each["name"] for each in reason.facts["ahead"]] == ["high", "same", "later"]
        assert why(at_work, job_id(begun, 2)).reasons[0].facts["place"] == 2
        assert why(at_work, job_id(new, 1)).reasons[0].facts["place"] == 3
        assert reason.facts["rank"] == {"user_priority": 979}

    def test_after_a_swap_of_the_planner_a_job_waits_for_its_new_rank(self, at_work: Store) -> None:
        name = first_job(at_work)
        at_work.replan(policy_fields(planner("fifo"), name="fifo"))
        reason = only(at_work, name, Because.RANKED_ANEW)
        assert reason.facts == {"planner": "fifo", "jobs": 1}
        at_work.advance()
        assert why(at_work, name).codes == [Because.IN_LINE]


class TestRoom:
    def test_a_full_executor_tells_who_holds_it(self, at_work: Store) -> None:
        give_capacity(at_work, slots=2)
        running, sent = first_job(at_work), first_job(at_work)
        tokens = begin(at_work, running), dispatch(at_work, sent)
        name = first_job(at_work)
        reason = first(at_work, name, Because.EXECUTOR_FULL)
        assert why(at_work, name).codes == [Because.EXECUTOR_FULL, Because.IN_LINE]
        assert reason.facts["holders"] == {attempt_id(running, tokens[0]): WORKER, attempt_id(sent, tokens[1]): ""}
        assert reason.facts["workers"] == {WORKER: 2}
        assert reason.text.startswith(f"'{EXECUTOR}' is full: 2 of 2 slots in use, by ")
        assert f"{attempt_id(running, tokens[0])} on {WORKER}" in reason.text

    def test_no_worker_has_ever_come(self, at_work: Store) -> None:
        name = first_job(at_work, new_run([job(executor="gpu")]))
        reason = first(at_work, name, Because.NO_WORKER)
        assert (reason.text, reason.facts) == ("no live worker serves 'gpu'", {"executor": "gpu"})
        assert why(at_work, name).codes == [Because.NO_WORKER, Because.IN_LINE]

    def test_a_worker_that_stopped_renewing_does_not_count(self, at_work: Store) -> None:
        name = first_job(at_work)
        assert why(at_work, name).codes == [Because.IN_LINE]
        at_work.now_ms = NOW + 5 * SECOND
        at_work.enlist("s1", {"host": "h"}, exclusive=False)
        assert why(at_work, name).codes == [Because.NO_WORKER, Because.IN_LINE]

    def test_an_executor_without_slots_is_full(self, at_work: Store) -> None:
        at_work.client.hset(at_work.keys.executor(EXECUTOR), "target", 0)
        reason = first(at_work, first_job(at_work), Because.EXECUTOR_FULL)
        assert reason.text == f"'{EXECUTOR}' is full: 0 of 0 slots in use"

    def test_the_limit_over_all_executors(self, at_work: Store) -> None:
        bounded = Store(at_work.client, Settings(max_concurrency=1), NOW)
        dispatch(at_work, first_job(at_work))
        name = first_job(at_work)
        reason = first(bounded, name, Because.CONCURRENCY_LIMIT)
        assert reason.facts == {"limit": 1, "used": 1}
        assert why(bounded, name).codes == [Because.CONCURRENCY_LIMIT, Because.IN_LINE]

    def test_the_limit_of_active_dags(self, at_work: Store) -> None:
        at_work.replan(policy_fields(planner("global"), max_active_dags=1))
        begun = submit(at_work, new_run([job("a"), job("b")]))
        dispatch(at_work, job_id(begun, 0))
        name = first_job(at_work)
        reason = first(at_work, name, Because.DAG_LIMIT)
        assert reason.facts == {"limit": 1, "active": 1}
        assert why(at_work, job_id(begun, 1)).codes == [Because.IN_LINE]


class TestSchedulers:
    def test_none_is_at_work(self, store: Store) -> None:
        give_capacity(store)
        name = first_job(store)
        assert why(store, name).codes == [Because.NO_SCHEDULER, Because.IN_LINE]
        store.enlist("s1", {"host": "h"}, exclusive=False)
        assert why(store, name).codes == [Because.IN_LINE]

    def test_one_whose_lease_has_ended_does_not_count(self, at_work: Store) -> None:
        name = first_job(at_work)
        at_work.now_ms = NOW + 5 * SECOND
        give_capacity(at_work)
        assert why(at_work, name).codes == [Because.NO_SCHEDULER, Because.IN_LINE]


def test_a_submission_under_way(at_work: Store) -> None:
    half_submitted(at_work)
    (run,) = at_work.client.zrange(at_work.keys.staging, 0, -1)
    for id in (run, job_id(run, 0)):
        reason = only(at_work, id, Because.STAGED)
        assert reason.text == f"the run is still being submitted: {CHUNK} jobs so far, 30 s left for the next part"
        assert reason.facts == {"jobs": CHUNK, "until_ms": NOW + 30 * SECOND}


def test_a_retry_tells_when_and_why(at_work: Store) -> None:
    name = first_job(at_work)
    token = begin(at_work, name)
    at_work.fail(name, token, WORKER, FailureKind.FAILURE, {"type": "ValueError", "message": "no"}, delay_seconds=90)
    reason = only(at_work, name, Because.DELAYED)
    assert reason.text == "attempt 1 ended in a failure (ValueError: no) and the next one is due in 1.5 min"
    assert (reason.facts["due_ms"], reason.facts["kind"]) == (NOW + 90 * SECOND, "failure")
    at_work.now_ms = NOW + 90 * SECOND
    at_work.enlist("s1", {"host": "h"}, exclusive=False)
    assert only(at_work, name, Because.DELAYED).text.endswith("the next one is due now")


class TestHolds:
    def test_an_operator_holds_the_job(self, at_work: Store) -> None:
        name = first_job(at_work)
        at_work.hold("job", name)
        reason = only(at_work, name, Because.HELD)
        assert (reason.text, reason.facts) == ("an operator holds it", {"kind": "job", "id": name})
        at_work.let_go("job", name)
        assert why(at_work, name).codes == [Because.IN_LINE]

    def test_an_operator_holds_the_run(self, at_work: Store) -> None:
        run = submit(at_work, dag({"a": [], "b": ["a"]}))
        at_work.hold("run", run)
        reason = only(at_work, job_id(run, 0), Because.HELD)
        assert (reason.text, reason.next) == ("an operator holds its run", f"resume the run {run}")
        assert why(at_work, job_id(run, 1)).codes == [Because.HELD, Because.PARENTS]

    def test_an_operator_holds_the_task(self, at_work: Store) -> None:
        name = first_job(at_work)
        at_work.hold("task", "t")
        at_work.advance()
        assert only(at_work, name, Because.HELD).text == "an operator holds the task 't'"

    def test_an_operator_holds_the_executor(self, at_work: Store) -> None:
        name = first_job(at_work)
        at_work.hold("executor", EXECUTOR)
        assert first(at_work, name, Because.HELD).text == f"an operator holds the executor '{EXECUTOR}'"


def test_a_sent_job_waits_for_a_process(at_work: Store) -> None:
    name = first_job(at_work)
    token = dispatch(at_work, name)
    at_work.now_ms = NOW + 2 * SECOND
    reason = only(at_work, name, Because.SENT)
    assert reason.text == f"it was sent to '{EXECUTOR}' 2 s ago and no process has started it"
    assert reason.facts["attempt"] == attempt_id(name, token)


def test_a_running_job_tells_where_and_since_when(at_work: Store) -> None:
    name = first_job(at_work)
    token = begin(at_work, name)
    at_work.now_ms = NOW + 1500
    reason = only(at_work, name, Because.RUNNING)
    assert reason.text == f"it runs on {WORKER} for 1.5 s, attempt 1"
    assert reason.facts == {"since_ms": NOW, "attempt": attempt_id(name, token), "worker": WORKER}


def test_a_job_of_a_run_that_is_being_cancelled(at_work: Store) -> None:
    run = submit(at_work, new_run([job(f"j{number}") for number in range(1500)]))
    at_work.cancel_run(run, "too late")
    assert first(at_work, job_id(run, 1400), Because.CANCELLING).facts == {"reason": "too late"}
    assert first(at_work, run, Because.CANCELLING).facts == {"reason": "too late"}


class TestEnds:
    def test_completed(self, at_work: Store) -> None:
        name = first_job(at_work)
        complete(at_work, name)
        assert only(at_work, name, Because.ENDED).text == "it completed 0 ms ago"

    def test_failed_with_its_error(self, at_work: Store) -> None:
        name = first_job(at_work)
        error = {"type": "ValueError", "message": "no"}
        at_work.fail(name, begin(at_work, name), WORKER, FailureKind.FAILURE, error, give_up=True)
        reason = only(at_work, name, Because.ENDED)
        assert reason.text == "it failed 0 ms ago (gave_up): ValueError: no"
        assert (reason.facts["state"], reason.facts["error"]) == ("failed", error)

    def test_skipped_because_a_parent_failed(self, at_work: Store) -> None:
        run = submit(at_work, dag({"a": [], "b": ["a"]}))
        name, error = job_id(run, 0), {"type": "E", "message": ""}
        at_work.fail(name, begin(at_work, name), WORKER, FailureKind.FAILURE, error, give_up=True)
        assert only(at_work, job_id(run, 1), Because.ENDED).text == "it was skipped 0 ms ago (upstream_failed)"

    def test_cancelled_by_an_operator(self, at_work: Store) -> None:
        name = first_job(at_work)
        at_work.cancel_job(name, "not needed")
        assert only(at_work, name, Because.ENDED).text == "it was cancelled 0 ms ago (not needed)"


class TestRuns:
    def test_groups_of_jobs_tell_what_they_wait_for(self, at_work: Store) -> None:
        give_capacity(at_work, slots=1)
        jobs = [
            job("a", children="3"),
            job("b"),
            job("c", executor="gpu"),
            job("d", deps=1, parents=1, level=1),
        ]
        run = submit(at_work, new_run(jobs, roots=[0, 1, 2]))
        begin(at_work, job_id(run, 0))
        answer = why(at_work, run)
        assert (answer.state, answer.name) == ("active", "d")
        assert answer.codes == [Because.RUNNING, Because.EXECUTOR_FULL, Because.NO_WORKER, Because.PARENTS]
        assert [(reason.facts["jobs"], reason.facts["state"]) for reason in answer.reasons] == [
            (1, "active"),
            (1, "ready"),
            (1, "ready"),
            (1, "created"),
        ]
        assert answer.reasons[3].text == (
            f"1 job created on '{EXECUTOR}', first d: it waits for 1 of 1 parent: a (active)"
        )

    def test_what_holds_all_of_them_is_told_once(self, store: Store) -> None:
        give_capacity(store)
        run = submit(store, new_run([job("a"), job("b", executor="gpu")]))
        assert why(store, run).codes == [Because.NO_SCHEDULER, Because.IN_LINE, Because.NO_WORKER]

    def test_an_end_tells_the_counts_and_what_failed(self, at_work: Store) -> None:
        run = submit(at_work, dag({"a": [], "b": ["a"]}))
        name, error = job_id(run, 0), {"type": "ValueError", "message": "no"}
        at_work.fail(name, begin(at_work, name), WORKER, FailureKind.FAILURE, error, give_up=True)
        whole, failed = why(at_work, run).reasons
        assert whole.text == "it ended as failed 0 ms ago: 1 skipped, 1 failed"
        assert failed.text.endswith("first a: it failed 0 ms ago (gave_up): ValueError: no")


def half_submitted(store: Store) -> None:
    """A client that dies between the first and the second part of a large submission."""

    class DeadError(Exception):
        pass

    class Client(Store):
        def call(self, name: str, *arguments: object) -> object:
            answer = super().call(name, *arguments)
            if name == "submit":
                raise DeadError
            return answer

    with pytest.raises(DeadError):
        submit(Client(store.client, store.settings, store.now_ms), new_run([job(f"j{n}") for n in range(CHUNK + 1)]))


shares = st.integers(0, 1000)
credits = st.integers(-1000, 999)


@given(active=st.integers(0, 40), new=st.integers(0, 40), share=shares, credit=credits)
def test_places_are_those_of_the_choices_played_through(active: int, new: int, share: int, credit: int) -> None:
    order = list(interleave([("ready", n) for n in range(active)], [("new", n) for n in range(new)], share, credit))
    executor = ExecutorFacts(EXECUTOR, 1, False, credit, active, new, 0, [], [], 0, {}, {})
    cluster = ClusterFacts("global", (), share, 0, 0, 0, 1, 0, None, 0)
    for ahead, (line, place) in enumerate(order):
        waiting = JobFacts("", {}, None, line, 0.0, place, 0)
        assert ahead_of(waiting, executor, cluster) == ahead


class TestTheShapeOfTheRun:
    def test_what_hangs_on_a_branch_or_a_gate_names_it(self, at_work: Store) -> None:
        run = started(at_work, lambda: branch(named("check")(), lambda: named("yes")()))
        reason = first(at_work, graph_job(at_work, run, "yes"), Because.SHUT)
        assert reason.facts["gate"] == graph_job(at_work, run, "branch")

    def test_what_comes_last_tells_how_many_are_left(self, at_work: Store) -> None:
        run = started(at_work, lambda: named("a")(), on_failure=named("bad", last))
        reason = only(at_work, graph_job(at_work, run, "bad"), Because.LAST)
        assert "all others have ended and one of them failed: 2 jobs left" in reason.text

    def test_a_map_tells_of_its_items(self, at_work: Store) -> None:
        run = started(at_work, lambda: work.map([1, 2, 3]))
        reason = only(at_work, job_id(run, 0), Because.EXPANDING)
        assert reason.facts == {"made": 0}
        expand(at_work)
        end(at_work, graph_job(at_work, run, "work[0]"), 1)
        reason = only(at_work, job_id(run, 0), Because.ITEMS)
        assert reason.text == "2 of its 3 jobs have not ended"

    def test_a_job_that_said_it_was_too_early_tells_why(self, at_work: Store) -> None:
        run = started(at_work, lambda: named("a")(), gate=named("gate", last))
        gate = graph_job(at_work, run, "gate")
        at_work.wait(gate, begin(at_work, gate), WORKER, "no file yet")
        reason = only(at_work, gate, Because.EARLY)
        assert reason.text == "it was asked 1 time and waits: no file yet; it is asked again in 10 s"
        assert why(at_work, run).reasons

"""What a run has beside its graph: a gate before it, `on_failure` and `finally_` behind it. And optional parents."""

from __future__ import annotations

from typing import Any

import pytest

from marie_celery import branch, optional
from marie_celery.config import Settings
from marie_celery.model.sla import OnHardSla
from marie_celery.store.replaying import descendants, instructions, nodes_of, unfinished
from marie_celery.store.store import Store
from tests.redis.graph_kit import (
    FAILED,
    SKIPPED,
    counts_are_exact,
    end,
    job,
    last,
    named,
    number,
    play,
    reasons,
    started,
    waiting,
    work,
)
from tests.redis.redis_runs import (
    NOW,
    WORKER,
    advance_to_the_end,
    begin,
    changes,
    job_field,
    run_state,
    states,
    watch_to_the_end,
)

BAD, LAST = named("bad", last), named("last", last)
ENDS = {"on_failure": BAD, "finally_": LAST}


def chain() -> Any:
    return named("b")(named("a")())


class TestLastJobs:
    def test_finally_runs_when_all_others_have_ended_and_on_failure_does_not(self, store: Store) -> None:
        run = started(store, chain, **ENDS)
        end(store, job(store, run, "a"), 1)
        assert states(store, run) == {"a": "completed", "b": "ready", "bad": "created", "last": "created"}
        end(store, job(store, run, "b"), 1)
        assert reasons(store, run)["bad"] == "skipped: nothing_failed"
        assert states(store, run)["last"] == "ready"
        assert run_state(store, run) == "active"
        play(store, {})
        assert run_state(store, run) == "completed"

    def test_after_a_failure_both_run_one_after_the_other_and_hide_nothing(self, store: Store) -> None:
        run = started(store, chain, **ENDS)
        end(store, job(store, run, "a"), FAILED)
        assert reasons(store, run)["b"] == "skipped: upstream_failed"
        assert (states(store, run)["bad"], states(store, run)["last"]) == ("ready", "created")
        end(store, job(store, run, "bad"), 1)
        assert states(store, run)["last"] == "ready"
        end(store, job(store, run, "last"), 1)
        assert run_state(store, run) == "failed"
        counts_are_exact(store, run)

    @pytest.mark.parametrize("only", ["on_failure", "finally_"])
    def test_each_may_be_alone(self, store: Store, only: str) -> None:
        run = started(store, chain, **{only: LAST})
        play(store, {"a": FAILED})
        assert states(store, run)["last"] == "completed"
        assert run_state(store, run) == "failed"

    def test_on_failure_that_fails_itself_does_not_keep_finally_away(self, store: Store) -> None:
        run = started(store, chain, **ENDS)
        play(store, {"a": FAILED, "bad": FAILED})
        assert states(store, run)["last"] == "completed"

    def test_fail_fast_does_not_reach_them(self, store: Store) -> None:
        run = started(store, lambda: [named("a")(), named("b")()], fail_fast=True, **ENDS)
        end(store, job(store, run, "a"), FAILED)
        play(store, {})
        assert states(store, run) == {"a": "failed", "b": "cancelled", "bad": "completed", "last": "completed"}
        assert run_state(store, run) == "failed"

    @pytest.mark.parametrize("paused", [False, True])
    def test_a_cancelled_run_still_runs_finally(self, store: Store, paused: bool) -> None:
        run = started(store, chain, **ENDS)
        if paused:
            store.hold("run", run)
        store.cancel_run(run)
        assert reasons(store, run)["bad"] == "skipped: nothing_failed"
        play(store, {})
        assert states(store, run)["last"] == "completed"
        assert run_state(store, run) == "cancelled"

    def test_finally_itself_can_be_cancelled(self, store: Store) -> None:
        run = started(store, chain, finally_=LAST)
        store.cancel_run(run)
        assert store.cancel_job(job(store, run, "last"))
        assert run_state(store, run) == "cancelled"

    def test_one_that_was_cancelled_before_is_not_waited_for(self, store: Store) -> None:
        run = started(store, chain, **ENDS)
        store.cancel_job(job(store, run, "last"))
        end(store, job(store, run, "a"), FAILED)
        assert states(store, run)["bad"] == "ready"
        play(store, {})
        assert run_state(store, run) == "failed"

    def test_a_run_that_expires_still_runs_them(self, store: Store) -> None:
        expiring = Store(store.client, Settings(on_hard_sla=OnHardSla.EXPIRE), now_ms=NOW)
        run = started(expiring, chain, hard_sla="1m", **ENDS)
        expiring.now_ms = NOW + 60_001
        watch_to_the_end(expiring)
        play(expiring, {})
        assert states(expiring, run) == {"a": "expired", "b": "expired", "bad": "completed", "last": "completed"}
        assert run_state(expiring, run) == "expired"

    def test_they_wait_for_the_items_of_maps(self, store: Store) -> None:
        run = started(store, lambda: work.map([1, 2]), **ENDS)
        play(store, {"work[1]": FAILED})
        assert states(store, run)["bad"] == states(store, run)["last"] == "completed"

    def test_they_run_again_at_the_end_of_a_replay(self, store: Store) -> None:
        run = started(store, chain, **ENDS)
        play(store, {"a": FAILED})
        nodes = nodes_of(store, run)
        store.replay(run, instructions(nodes, unfinished(nodes)), 0)
        assert states(store, run) == {"a": "ready", "b": "created", "bad": "created", "last": "created"}
        play(store, {})
        assert reasons(store, run)["bad"] == "skipped: nothing_failed"
        assert run_state(store, run) == "completed"
        counts_are_exact(store, run)

    def test_they_can_be_replayed_alone(self, store: Store) -> None:
        run = started(store, chain, finally_=LAST)
        play(store, {})
        store.replay(run, instructions(nodes_of(store, run), {number(store, run, "last")}), 0)
        play(store, {})
        assert job_field(store, job(store, run, "last"), "token") == "2"
        assert run_state(store, run) == "completed"


class TestGates:
    def test_nothing_starts_before_the_gate_says_yes(self, store: Store) -> None:
        def wire() -> Any:
            named("always", join="all_done")(named("a")())
            return branch(named("check")(), lambda: named("yes")())

        run = started(store, wire, gate=named("gate", last))
        assert waiting(store) == [job(store, run, "gate")]
        end(store, job(store, run, "gate"), True)
        assert {name for name, state in states(store, run).items() if state == "ready"} == {"a", "check"}
        play(store, {})
        assert run_state(store, run) == "completed"

    @pytest.mark.parametrize(
        ("answer", "reason"), [(FAILED, "skipped: upstream_failed"), (SKIPPED, "skipped: all_parents_skipped")]
    )
    def test_a_gate_that_never_says_yes_skips_all(self, store: Store, answer: object, reason: str) -> None:
        run = started(store, chain, gate=named("gate", last), finally_=LAST)
        play(store, {"gate": answer})
        assert {reasons(store, run)[name] for name in ("a", "b")} == {reason}
        assert states(store, run)["last"] == "completed"
        assert run_state(store, run) == ("failed" if answer is FAILED else "completed")

    def test_a_gate_that_says_no_is_asked_again_and_loses_no_retry(self, store: Store) -> None:
        run = started(store, chain, gate=named("gate", last, retry_limit=0), gate_every=2.5)
        gate = job(store, run, "gate")
        for times in range(1, 5):
            token = begin(store, gate)
            attempt = f"{gate}.{token}"
            with changes(store) as changed:
                assert store.wait(gate, token, WORKER, "no file yet")
            due = NOW + times * 2_500
            told = {"state": "retry", "reason": "no file yet", "due": str(due), "waits": str(times)}
            assert changed[f"job:{gate}"] == told
            assert changed["delayed"] == {gate: due}
            assert changed["events"] == [("job", gate, "active", "retry", "no file yet")]
            assert attempt in changed[f"worker:{WORKER}:jobs"]
            store.now_ms = due
            store.promote()
        end(store, gate, 1)
        play(store, {})
        assert run_state(store, run) == "completed"

    def test_a_task_may_say_how_long_and_an_old_attempt_says_nothing(self, store: Store) -> None:
        run = started(store, chain)
        a = job(store, run, "a")
        token = begin(store, a)
        assert store.wait(a, token, WORKER, "early", 7)
        assert store.client.zscore(store.keys.delayed, a) == NOW + 7_000
        with changes(store) as changed:
            assert not store.wait(a, token, WORKER, "early", 7)
        assert changed == {"counters": {"fencedWrites": "1"}, "wake": ["1"]}

    def test_a_task_that_does_not_say_waits_as_for_a_retry(self, store: Store) -> None:
        run = started(store, lambda: named("a", retry_delay=3)())
        a = job(store, run, "a")
        assert store.wait(a, begin(store, a), WORKER, "early")
        assert store.client.zscore(store.keys.delayed, a) == NOW + 3_000

    def test_a_replay_of_the_gate_shuts_it_again(self, store: Store) -> None:
        run = started(store, chain, gate=named("gate", last))
        play(store, {"gate": FAILED})
        nodes = nodes_of(store, run)
        store.replay(run, instructions(nodes, descendants(nodes, unfinished(nodes))), 0)
        assert states(store, run) == {"a": "created", "b": "created", "gate": "ready"}
        play(store, {})
        assert run_state(store, run) == "completed"

    def test_a_wide_run_is_opened_piece_by_piece(self, store: Store) -> None:
        run = started(store, lambda: [work() for _ in range(2_500)], gate=named("gate", last))
        end(store, job(store, run, "gate"), 1)
        advance_to_the_end(store)
        assert store.client.hget(store.keys.run(run), "ready") == "2500"


class TestOptionalParents:
    @pytest.mark.parametrize("answer", [FAILED, SKIPPED])
    @pytest.mark.parametrize("by_argument", [True, False])
    def test_their_child_runs_however_they_end(self, store: Store, answer: object, by_argument: bool) -> None:
        def wire() -> Any:
            a, b = named("a")(), named("b")()
            return named("c")(optional(a), b) if by_argument else named("c")(b).after(optional(a))

        run = started(store, wire)
        play(store, {"a": answer})
        assert states(store, run)["c"] == "completed"

    def test_it_runs_even_if_that_is_its_only_parent(self, store: Store) -> None:
        run = started(store, lambda: named("c")(optional(named("a")()["part"])))
        play(store, {"a": SKIPPED})
        assert states(store, run)["c"] == "completed"

    def test_its_other_parents_count_as_ever(self, store: Store) -> None:
        run = started(store, lambda: named("c")(optional(named("a")()), named("b")()))
        play(store, {"a": FAILED, "b": FAILED})
        assert reasons(store, run)["c"] == "skipped: upstream_failed"

    def test_a_parent_that_is_needed_elsewhere_in_the_call_is_needed(self, store: Store) -> None:
        def wire() -> Any:
            a = named("a")()
            return named("c")(optional(a), a)

        run = started(store, wire)
        play(store, {"a": FAILED})
        assert reasons(store, run)["c"] == "skipped: upstream_failed"

    def test_a_replay_of_the_child_still_does_without(self, store: Store) -> None:
        run = started(store, lambda: named("c")(optional(named("a")()), named("b")()))
        play(store, {"a": FAILED, "c": FAILED})
        store.replay(run, instructions(nodes_of(store, run), {number(store, run, "c")}), 0)
        play(store, {})
        assert states(store, run)["c"] == "completed"

"""Branches: which path runs, what becomes of the others, and what stands behind them."""

from __future__ import annotations

from typing import Any

import pytest

from marie_celery import branch, choose, merge, switch
from marie_celery.store.replaying import descendants, instructions, nodes_of
from marie_celery.store.store import Store
from tests.redis.graph_kit import (
    FAILED,
    SKIPPED,
    counts_are_exact,
    end,
    job,
    named,
    number,
    play,
    reasons,
    result,
    started,
)
from tests.redis.redis_runs import AT, EXECUTOR, advance_to_the_end, begin, changes, rank, run_state, states

NOT_TAKEN = "skipped: branch_not_taken"


def two_paths() -> Any:
    check = named("check")()
    return named("after")(branch(check, lambda: named("yes")(check), lambda: named("no")(check)))


def test_one_path_runs_and_the_other_is_skipped_in_the_step_that_decides(store: Store) -> None:
    run = started(store, two_paths)
    check, split, yes, no, pick = (job(store, run, name) for name in ("check", "branch", "yes", "no", "pick"))
    token = begin(store, check)
    with changes(store) as changed:
        store.finish(check, token, "w1", "[0]")
    ended = {"state": "completed", "at": AT, "deps": "0"}
    assert changed[f"job:{split}"] == {**ended, "reason": "took then", "taken": "1"}
    assert changed[f"job:{yes}"] == {"state": "ready", "at": AT, "reason": "", "deps": "0", "shut": None}
    no_longer = {"state": "skipped", "at": AT, "reason": "branch_not_taken", "deps": "0"}
    assert changed[f"job:{no}"] == no_longer
    assert changed[f"job:{pick}"] == {"deps": "1", "skipped_parents": "1"}
    assert changed[f"ready:{EXECUTOR}"] == {yes: rank(level=2, runtime=128, burst=True)}
    assert changed[f"run:{run}"].items() >= {"left": "3", "completed": "2", "skipped": "1", "ready": "1"}.items()
    play(store, {"yes": {"x": []}})
    assert store.client.hget(store.keys.results(run), str(number(store, run, "pick"))) == '{"x":[]}'
    assert states(store, run)["after"] == "completed", "a join after a branch runs"
    assert run_state(store, run) == "completed"


@pytest.mark.parametrize(
    ("value", "taken"),
    [
        *((value, "no") for value in (None, False, 0, 0.0, -0.0, "", [], {})),
        *((value, "yes") for value in (True, 1, -1, 0.1, "0", "false", " ", [0], [[]], {"": 0})),
    ],
)
def test_truth_is_that_of_python(store: Store, value: object, taken: str) -> None:
    run = started(store, two_paths)
    end(store, job(store, run, "check"), value)
    assert states(store, run)[taken] == "ready"


def test_without_otherwise_the_result_is_none(store: Store) -> None:
    run = started(store, lambda: named("after")(branch(named("check")(), lambda: named("yes")())))
    play(store, {"check": 0})
    assert result(store, run, "pick") is None
    assert states(store, run)["after"] == "completed"


def test_a_part_of_a_result_may_decide(store: Store) -> None:
    run = started(store, lambda: branch(named("check")()["a\u00e9"][-1]["b"], lambda: named("yes")()))
    play(store, {"check": {"x": "]}\"\\", "a\u00e9": [1, {"b": 1}]}})
    assert states(store, run)["yes"] == "completed"


def test_a_part_that_is_not_there_fails_the_branch(store: Store) -> None:
    run = started(store, lambda: named("after")(branch(named("check")()["a"], lambda: named("yes")())))
    play(store, {"check": {"b": 1}})
    assert reasons(store, run)["branch"] == "failed: failed"
    assert reasons(store, run)["yes"] == reasons(store, run)["after"] == "skipped: upstream_failed"
    assert "the result of 'check' has no part" in store.client.hget(store.keys.errors(run), "1")
    assert run_state(store, run) == "failed"


def cases(default: bool) -> Any:
    paths = {"a": lambda: named("A")(), 2: lambda: named("two")(), None: lambda: {"is": "none"}}
    return switch(named("kind")(), paths, (lambda: named("other")()) if default else None)


@pytest.mark.parametrize(
    ("value", "taken"), [("a", "A"), (2, "two"), ("2", "two"), ("b", "other"), (3, "other"), (True, "other")]
)
def test_a_switch_takes_the_path_that_is_named(store: Store, value: object, taken: str) -> None:
    run = started(store, lambda: cases(default=True))
    play(store, {"kind": value, taken: "it"})
    assert result(store, run, "pick") == "it"
    assert [name for name in ("A", "two", "other") if states(store, run)[name] == "completed"] == [taken]


def test_a_path_may_be_without_tasks(store: Store) -> None:
    run = started(store, lambda: cases(default=True))
    play(store, {"kind": None})
    assert result(store, run, "pick") == {"is": "none"}


@pytest.mark.parametrize(
    ("value", "problem"),
    [("b", "there is no path 'b'; there are a, 2, null"), ([], "[] is not a name"), ({"a": 1}, "is not a name")],
)
def test_a_switch_without_a_path_fails_with_a_clear_error(store: Store, value: object, problem: str) -> None:
    run = started(store, lambda: cases(default=False))
    play(store, {"kind": value})
    assert problem in store.client.hget(store.keys.errors(run), "1")
    assert reasons(store, run)["A"] == "skipped: upstream_failed"
    assert run_state(store, run) == "failed"


def choice() -> Any:
    return choose(named("plan")(), {"text": lambda: [named("T")(), 1], "image": lambda: named("I")(), "b c": lambda: 5})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", {"text": ["t", 1]}),
        (["b c", "text"], {"text": ["t", 1], "b c": 5}),
        (["image", "image"], {"image": "i"}),
        ([], {}),
    ],
)
def test_a_choice_takes_all_paths_that_are_named(store: Store, value: object, expected: object) -> None:
    run = started(store, choice)
    play(store, {"plan": value, "T": "t", "I": "i"})
    assert result(store, run, "pick") == expected
    assert run_state(store, run) == "completed"


def test_a_choice_of_an_unknown_name_fails(store: Store) -> None:
    run = started(store, choice)
    play(store, {"plan": ["text", "sound"]})
    assert "there is no path 'sound'" in store.client.hget(store.keys.errors(run), "1")
    assert reasons(store, run)["T"] == "skipped: upstream_failed"


def test_all_of_a_path_hangs_on_the_branch_whatever_else_it_waits_for(store: Store) -> None:
    def wire() -> Any:
        check, other = named("check")(), named("other")()

        def path() -> Any:
            first = named("first")()
            named("any", join="one_success")(first, other)
            named("always", join="all_done")(other)
            return named("second")(first, other)

        return branch(check, path)

    run = started(store, wire)
    end(store, job(store, run, "other"), 1)
    assert {states(store, run)[name] for name in ("first", "any", "always", "second")} == {"created"}
    end(store, job(store, run, "check"), 0)
    assert {reasons(store, run)[name] for name in ("first", "any", "always", "second")} == {NOT_TAKEN}
    assert run_state(store, run) == "completed"


@pytest.mark.parametrize("outer", [0, 1])
def test_branches_nest(store: Store, outer: int) -> None:
    def wire() -> Any:
        first, second = named("outer")(), named("inner")()
        path = lambda: branch(second, lambda: named("deep")(), lambda: named("deep-else")())  # noqa: E731
        return named("after")(branch(first, path))

    run = started(store, wire)
    play(store, {"outer": outer, "inner": 0, "deep-else": "x"})
    found = reasons(store, run)
    assert found["deep"] == NOT_TAKEN
    assert found["deep-else"] == ("completed" if outer else NOT_TAKEN)
    assert found["after"] == "completed"
    assert result(store, run, "pick-2") == ("x" if outer else None)
    counts_are_exact(store, run)


@pytest.mark.parametrize(
    ("answer", "expected"), [(FAILED, "skipped: upstream_failed"), (SKIPPED, "skipped: all_parents_skipped")]
)
def test_a_branch_that_cannot_decide_skips_its_paths(store: Store, answer: object, expected: str) -> None:
    run = started(store, two_paths)
    play(store, {"check": answer})
    assert {reasons(store, run)[name] for name in ("branch", "yes", "no", "pick", "after")} == {expected}


def test_a_failure_on_the_path_taken_reaches_what_stands_behind(store: Store) -> None:
    run = started(store, two_paths)
    play(store, {"check": 1, "yes": FAILED})
    assert reasons(store, run)["after"] == "skipped: upstream_failed"
    assert run_state(store, run) == "failed"


def test_a_path_longer_than_one_call_may_touch_is_skipped_by_advance(store: Store) -> None:
    def wire() -> Any:
        return branch(named("check")(), lambda: merge(*[named(f"n{each}")() for each in range(1_500)]))

    run = started(store, wire)
    end(store, job(store, run, "check"), 0)
    advance_to_the_end(store)
    assert run_state(store, run) == "completed"
    assert store.client.hget(store.keys.run(run), "skipped") == "1501"


def test_a_replay_decides_again(store: Store) -> None:
    run = started(store, two_paths)
    play(store, {"check": 1})
    nodes = nodes_of(store, run)
    store.replay(run, instructions(nodes, descendants(nodes, [0])), 0)
    assert set(states(store, run).values()) == {"created", "ready"}
    play(store, {"check": 0, "no": "N"})
    assert reasons(store, run)["yes"] == NOT_TAKEN
    assert result(store, run, "pick") == "N"
    assert run_state(store, run) == "completed"
    counts_are_exact(store, run)


def test_what_was_not_taken_runs_if_somebody_insists(store: Store) -> None:
    run = started(store, two_paths)
    play(store, {"check": 1})
    nodes = nodes_of(store, run)
    store.replay(run, instructions(nodes, {number(store, run, "no")}), 0)
    play(store, {})
    assert states(store, run)["no"] == "completed"
    assert run_state(store, run) == "completed"

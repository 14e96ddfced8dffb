"""What `doctor` says about the schedulers."""

from __future__ import annotations

import json

from marie_celery.config import Settings
from marie_celery.scheduler.inspection import Finding, inspect_schedulers
from marie_celery.scheduler.policy import BY_SETTINGS, policy_of
from marie_celery.store.store import Store
from tests.redis.redis_runs import NOW

CALM = {"errors": 0, "longest_turn_ms": 12.4, "slowest_node": "surveyor"}


def enlist(store: Store, graph: dict[str, object]) -> None:
    store.enlist("s1", {"graph": json.dumps(graph)}, exclusive=False)


def about_schedulers(store: Store) -> list[Finding]:
    *found, _ = inspect_schedulers(store, Settings())
    return found


def about_the_planner(store: Store) -> Finding:
    *_, found = inspect_schedulers(store, Settings())
    return found


def test_no_scheduler_is_a_warning(store: Store) -> None:
    (found,) = about_schedulers(store)
    assert (found.state, "no scheduler is at work" in found.text) == ("warning", True)


def test_one_at_work_tells_its_longest_turn(store: Store) -> None:
    enlist(store, CALM)
    assert about_schedulers(store) == [Finding("ok", "s1: longest turn 12 ms (surveyor), 0 errors")]


def test_one_whose_lease_has_ended_is_not_at_work(store: Store) -> None:
    enlist(store, CALM)
    store.now_ms = NOW + 5_000
    assert [found.state for found in about_schedulers(store)] == ["warning"]


def test_errors_and_slow_turns_are_warnings(store: Store) -> None:
    for graph in ({**CALM, "errors": 1}, {**CALM, "longest_turn_ms": 250}):
        enlist(store, graph)
        assert [found.state for found in about_schedulers(store)] == ["warning"]


def test_a_planner_that_the_settings_do_not_name_is_a_warning(store: Store) -> None:
    assert about_the_planner(store) == Finding("ok", "planner global, from the first scheduler on")
    store.replan(policy_of("global", Settings(), BY_SETTINGS))
    assert about_the_planner(store) == Finding("ok", "planner global, set by settings")
    store.replan(policy_of("slack", Settings(), "ann"))
    assert about_the_planner(store).state == "warning"
    assert about_the_planner(store).text.startswith("planner slack, set by ann; the settings say global")

"""Maps from the release of the map to the list of its results, whatever happens in between."""

from __future__ import annotations

from typing import Any

import pytest

from marie_celery.config import Settings
from marie_celery.model.sla import OnHardSla
from marie_celery.store import expanding
from marie_celery.store.replaying import descendants, instructions, nodes_of, unfinished
from marie_celery.store.store import Store
from tests.redis.graph_kit import (
    FAILED,
    SKIPPED,
    compiled,
    counts_are_exact,
    end,
    expand,
    job,
    jobs,
    named,
    number,
    play,
    reasons,
    result,
    source,
    started,
    waiting,
    work,
)
from tests.redis.redis_runs import (
    EXECUTOR,
    NOW,
    advance_to_the_end,
    dump,
    job_field,
    run_state,
    states,
    submit,
    watch_to_the_end,
)


def mapped() -> Any:
    return named("reduce")(named("read", work).map(named("list")(), same=named("language")()))


def with_list(store: Store, *items: object, **options: Any) -> str:
    """A run whose map has its list, and whose items are made."""
    run = started(store, mapped, **options)
    for name in ("list", "language"):
        end(store, job(store, run, name), list(items))
    expand(store)
    return run


def again(store: Store, run: str, *names: str) -> None:
    """Replay these jobs and all that depends on them."""
    nodes = nodes_of(store, run)
    chosen = descendants(nodes, [number(store, run, name) for name in names]) if names else unfinished(nodes)
    store.replay(run, instructions(nodes, chosen), int(store.client.hget(store.keys.run(run), "replays") or 0))


def test_each_item_is_a_job_and_the_result_is_their_list_in_order(store: Store) -> None:
    run = with_list(store, "a", {"$ref": 0}, [])
    assert [store.client.hget(store.keys.inputs(run), str(each)) for each in (4, 5, 6)] == [
        '["a"]\n{"same":{"$ref":1}}',
        '[{"$literal":{"$ref":0}}]\n{"same":{"$ref":1}}',
        '[[]]\n{"same":{"$ref":1}}',
    ]
    counts_are_exact(store, run)
    play(store, {"read[0]": {}, "read[1]": 9007199254740993, "read[2]": []})
    assert store.client.hget(store.keys.results(run), "2") == "[{},9007199254740993,[]]"
    assert run_state(store, run) == "completed"
    counts_are_exact(store, run)


def test_items_have_the_options_of_the_call(store: Store) -> None:
    def wire() -> Any:
        options = {"priority": 80, "estimated_runtime": 2.0, "time_limit": 9, "retry_limit": 7, "hard_sla": "1h"}
        return work.options(**options).map([1])

    run = started(store, wire)
    expand(store)
    of_map, of_item = (store.client.hgetall(store.keys.job(each)) for each in jobs(store, run))
    same = ("task", "executor", "priority", "estimate", "time_limit", "spec", "hard", "sla", "level")
    assert {name: of_item[name] for name in same} == {name: of_map[name] for name in same}
    assert of_item["name"] == "work[0]"
    assert store.client.zscore(store.keys.sla, jobs(store, run)[1]) == NOW + 3_600_000


@pytest.mark.parametrize("given", [[], [[]]])
def test_an_empty_list_gives_an_empty_list_at_once(store: Store, given: list[object]) -> None:
    run = started(store, lambda: work.map(named("f", work).map(given[0] if given else [])))
    expand(store)
    assert states(store, run) == {"f": "completed", "work": "completed"}
    assert result(store, run, "work") == []
    assert run_state(store, run) == "completed"
    assert not store.client.exists(store.keys.expand)


def test_a_map_of_a_map_takes_its_list(store: Store) -> None:
    run = started(store, lambda: named("g", work).map(named("f", work).map([1, 2])))
    play(store, {"f[0]": 10, "f[1]": 20, "g[0]": 100, "g[1]": 200})
    assert result(store, run, "g") == [100, 200]


def test_several_lists_are_taken_together(store: Store) -> None:
    run = started(store, lambda: source.map(named("list")(), [1, 2]))
    play(store, {"list": ["a", "b"]})
    inputs = [store.client.hget(store.keys.inputs(run), str(each)) for each in (2, 3)]
    assert inputs == ['["a",1]\n{}', '["b",2]\n{}']


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (5, "what the map takes its items from is not a list but int"),
        (None, "what the map takes its items from is not a list but NoneType"),
        (list(range(11)), "the list has 11 items, and max_map_length is 10"),
    ],
)
def test_a_list_that_is_none_or_too_long_fails_the_map(store: Store, given: object, problem: str) -> None:
    small = Store(store.client, Settings(max_map_length=10), now_ms=NOW)
    run = started(small, mapped)
    play(small, {"list": given})
    assert reasons(small, run)["read"] == "failed: failed"
    assert reasons(small, run)["reduce"] == "skipped: upstream_failed"
    assert problem in store.client.hget(store.keys.errors(run), "2")
    assert store.client.zscore(store.keys.dead, job(small, run, "read")) is not None
    assert run_state(small, run) == "failed"


def test_lists_of_different_lengths_fail_the_map(store: Store) -> None:
    run = started(store, lambda: source.map(named("list")(), [1, 2]))
    play(store, {"list": [1, 2, 3]})
    assert "lists of the same length, not of 2 and 3" in store.client.hget(store.keys.errors(run), "1")


def test_a_part_that_is_not_there_fails_the_map(store: Store) -> None:
    run = started(store, lambda: work.map(named("list")()["pages"]))
    play(store, {"list": {"page": []}})
    assert "KeyError('pages')" in store.client.hget(store.keys.errors(run), "1")
    assert run_state(store, run) == "failed"


def test_a_skipped_item_leaves_its_place_empty(store: Store) -> None:
    run = with_list(store, 1, 2)
    play(store, {"read[0]": SKIPPED, "read[1]": SKIPPED})
    assert result(store, run, "read") == [None, None]
    assert run_state(store, run) == "completed"


def test_a_failed_item_ends_the_map_as_its_rule_says(store: Store) -> None:
    run = with_list(store, 1, 2, 3)
    end(store, job(store, run, "read[1]"), FAILED)
    assert reasons(store, run)["read"] == "skipped: upstream_failed"
    play(store, {})
    assert states(store, run)["read[2]"] == "completed", "the others go on"
    assert run_state(store, run) == "failed"


@pytest.mark.parametrize(
    ("rule", "ends", "expected"),
    [
        ("all_done", [1, FAILED], [1, None]),
        ("one_success", [FAILED, 2], [None, 2]),
        ("one_success", [FAILED, FAILED], "skipped: upstream_failed"),
        ("one_failed", [1, FAILED], [1, None]),
        ("one_failed", [1, 2], "skipped: all_parents_skipped"),
        ("none_failed", [1, SKIPPED], [1, None]),
    ],
)
def test_a_map_waits_for_all_items_and_then_obeys_its_rule(
    store: Store, rule: str, ends: list[object], expected: object
) -> None:
    run = started(store, lambda: named("read", work, join=rule).map([0, 1]))
    expand(store)
    end(store, job(store, run, "read[0]"), ends[0])
    assert states(store, run)["read"] == "active"
    end(store, job(store, run, "read[1]"), ends[1])
    if isinstance(expected, str):
        assert reasons(store, run)["read"] == expected
    else:
        assert result(store, run, "read") == expected


def test_a_batch_does_several_items_and_the_results_are_joined_flat(store: Store) -> None:
    run = started(store, lambda: named("read", work, join="all_done").map([1, 2, 3, 4, 5], batch=2))
    expand(store)
    assert [job_field(store, each, "name") for each in jobs(store, run)[1:]] == ["read[0-1]", "read[2-3]", "read[4-4]"]
    assert store.client.hget(store.keys.inputs(run), "1") == "[[1],[2]]\n{}"
    play(store, {"read[0-1]": [[], {}], "read[2-3]": FAILED, "read[4-4]": ["x"]})
    assert result(store, run, "read") == [[], {}, None, None, "x"]


def test_items_begin_before_all_are_made_and_a_dead_scheduler_is_taken_over_from(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expanding, "EXPAND_CHUNK", 2)
    run = started(store, lambda: work.map([0, 1, 2, 3, 4]))
    claim, _ = store.claim_map()
    assert claim is not None
    items = [expanding.MapItem(f"[{each}]", f"[{each}]\n{{}}") for each in range(5)]
    first = items[:2]
    given = [part for item in first for part in (item.label, item.inputs, "")]
    assert store.call("expand", claim.job_id, claim.number, 5000, 5, 0, *given) == [0, 2]
    counts_are_exact(store, run)
    for each in waiting(store):
        end(store, each, 1)
    assert states(store, run) == {"work": "active", "work[0]": "completed", "work[1]": "completed"}
    assert store.claim_map() == (None, 5.0), "until the lease ends it is the first one's"
    store.now_ms = NOW + 5_000
    play(store, {})
    assert result(store, run, "work") == [1] * 5
    before = dump(store)
    assert not store.expand(claim, items), "the first one comes back, and is told"
    assert dump(store) == before


def test_a_call_that_is_repeated_makes_nothing_twice(store: Store) -> None:
    run = started(store, lambda: work.map([0, 1]))
    claim, _ = store.claim_map()
    assert claim is not None
    call = (claim.job_id, claim.number, 5000, 3, 0, "[0]", "[0]\n{}", "", "[1]", "[1]\n{}", "")
    assert store.call("expand", *call) == [0, 2]
    assert store.call("expand", *call) == [1]
    assert len(jobs(store, run)) == 3


def test_more_items_than_one_call_makes(store: Store) -> None:
    run = started(store, lambda: work.map([0] * 1_000))
    expand(store)
    counts_are_exact(store, run)
    assert store.client.hmget(store.keys.run(run), "jobs", "left", "ready") == ["1001", "1001", "1000"]
    assert store.client.zcard(store.keys.new(EXECUTOR)) == 1_000
    end(store, waiting(store)[0], 1)
    advance_to_the_end(store)
    assert store.client.zcard(store.keys.ready(EXECUTOR)) == 999, "all of them belong to a run that has begun"


@pytest.mark.parametrize("made", [False, True])
def test_a_cancelled_run_ends_with_its_map(store: Store, made: bool) -> None:
    run = with_list(store, 1, 2) if made else started(store, lambda: named("read", work).map([1, 2]))
    store.cancel_run(run)
    expand(store)
    assert run_state(store, run) == "cancelled"
    assert states(store, run)["read"] == "cancelled"
    counts_are_exact(store, run)
    assert not store.client.exists(store.keys.expand)


def test_a_map_that_is_cancelled_alone_makes_no_more_items(store: Store) -> None:
    run = started(store, mapped)
    for name in ("list", "language"):
        end(store, job(store, run, name), [1])
    store.cancel_job(job(store, run, "read"))
    expand(store)
    assert states(store, run)["read"] == "cancelled"
    assert "read[0]" not in states(store, run)
    assert run_state(store, run) == "cancelled"


def test_the_items_of_a_paused_run_are_held(store: Store) -> None:
    run = started(store, lambda: work.map([1, 2]))
    store.hold("run", run)
    expand(store)
    assert states(store, run) == {"work": "active", "work[0]": "held", "work[1]": "held"}
    store.let_go("run", run)
    play(store, {})
    assert run_state(store, run) == "completed"


def test_fail_fast_ends_the_other_items(store: Store) -> None:
    run = with_list(store, 1, 2, fail_fast=True)
    end(store, job(store, run, "read[0]"), FAILED)
    advance_to_the_end(store)
    assert states(store, run)["read[1]"] == "cancelled"
    assert run_state(store, run) == "failed"


def test_a_run_that_expires_takes_its_map_and_items_with_it(store: Store) -> None:
    expiring = Store(store.client, Settings(on_hard_sla=OnHardSla.EXPIRE), now_ms=NOW)
    run = with_list(expiring, 1, 2, hard_sla="1m")
    expiring.now_ms = NOW + 60_001
    watch_to_the_end(expiring)
    assert {states(expiring, run)[name] for name in ("read", "read[0]", "read[1]", "reduce")} == {"expired"}
    assert run_state(expiring, run) == "expired"


def test_new_priorities_reach_items_that_are_not_made_yet(store: Store) -> None:
    run = started(store, lambda: work.map([1]))
    store.reprioritise(run, priority=900)
    expand(store)
    assert job_field(store, job(store, run, "work[0]"), "priority") == "900"


def test_a_replayed_item_gives_a_new_list(store: Store) -> None:
    run = with_list(store, 1, 2)
    play(store, {"read[0]": "old", "read[1]": FAILED})
    again(store, run)
    assert states(store, run)["read"] == "active"
    play(store, {"read[1]": "new"})
    assert result(store, run, "read") == ["old", "new"]
    assert run_state(store, run) == "completed"
    counts_are_exact(store, run)


@pytest.mark.parametrize("name", ["list", "read"])
def test_a_replay_of_the_list_or_the_map_makes_the_items_anew(store: Store, name: str) -> None:
    run = with_list(store, 1, 2)
    play(store, {"read[1]": FAILED})
    again(store, run, name)
    play(store, {"list": [7, 8], "read[0]": "a", "read[1]": "b"})
    assert result(store, run, "read") == ["a", "b"]
    assert run_state(store, run) == "completed", "the item that failed before counts no more"
    assert [job_field(store, each, "reason") for each in jobs(store, run)[4:6]] == ["replaced", "replaced"]
    counts_are_exact(store, run)
    again(store, run, "read[1]")
    play(store, {"read[1]": "c"})
    assert result(store, run, "read") == ["a", "c"]


def test_a_run_that_was_cancelled_in_the_middle_of_a_map_can_be_resumed(store: Store) -> None:
    run = started(store, lambda: work.map([0, 1, 2]))
    claim, _ = store.claim_map()
    assert claim is not None
    store.call("expand", claim.job_id, claim.number, 5000, 3, 0, "[0]", "[0]\n{}", "")
    store.cancel_run(run)
    again(store, run)
    assert not store.expand(claim, []), "a claim from before means nothing any more"
    play(store, {})
    assert result(store, run, "work") == [1, 1, 1]
    assert run_state(store, run) == "completed"
    counts_are_exact(store, run)


def test_reconcile_finds_a_map_whose_items_nobody_makes(store: Store) -> None:
    run = started(store, lambda: work.map([0]))
    store.client.delete(store.keys.expand)
    assert store.reconcile(run) == {jobs(store, run)[0]: "a map whose items nobody makes"}
    expand(store)
    assert store.reconcile(run) == {}
    play(store, {})
    assert run_state(store, run) == "completed"


def test_nothing_is_left_of_a_pruned_run(store: Store) -> None:
    before = dump(store).keys()
    run = submit(store, compiled(lambda: work.map([0, 1])))
    expand(store)
    store.cancel_run(run)
    store.now_ms = NOW + 10
    assert store.prune(run, NOW + 1)
    advance_to_the_end(store)
    assert {key for key in dump(store).keys() - before if run in key} == set()

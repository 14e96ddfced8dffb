"""expand_claim.lua, expand.lua, expand_graphs.lua, expand_refuse.lua: all that they change."""

from __future__ import annotations

import json
from typing import Any

from marie_celery.authoring.dag import Dag
from marie_celery.authoring.instances import InnerGraph
from marie_celery.authoring.options import RunOptions
from marie_celery.store.expanding import MapClaim, MapItem
from marie_celery.store.keys import job_id
from marie_celery.store.store import Store
from tests.redis.graph_kit import compiled, expand, named, number, play, reasons, result, started, work
from tests.redis.redis_runs import AGEING_STEP, AT, EXECUTOR, NOW, changes, rank, run_state, submit

LEASE = 5_000
ITEMS = [MapItem("[0]", '["a"]\n{}'), MapItem("[1]", '["b"]\n{}')]


def claimed(store: Store, function: Any = lambda: work.map(["a", "b"])) -> tuple[str, MapClaim]:
    run = submit(store, compiled(function))
    claim, _ = store.claim_map()
    assert claim is not None
    return run, claim


def test_a_map_at_the_root_waits_for_a_scheduler(store: Store) -> None:
    with changes(store) as changed:
        run = submit(store, compiled(lambda: work.map(["a", "b"])))
    name = job_id(run, 0)
    assert changed[f"job:{name}"].items() >= {"state": "active", "reason": "expand", "control": "map"}.items()
    assert changed["expand"] == {name: NOW}
    assert changed[f"run:{run}"].items() >= {"active": "1", "left": "1", "jobs": "1"}.items()
    assert changed["events"][1:] == [("job", name, "created", "ready", ""), ("job", name, "ready", "active", "expand")]
    assert changed["wake"] == ["1"]
    assert store.peek(1, 1).due_ms["expander"] == 0


def test_a_claim_keeps_others_away_until_its_lease_ends(store: Store) -> None:
    run = submit(store, compiled(lambda: work.map(["a", "b"])))
    name = job_id(run, 0)
    with changes(store) as changed:
        claim, next_seconds = store.claim_map()
    assert claim == MapClaim(name, 1, 0, None, '[["a","b"]]\n{}', {}, "work", "", 1)
    assert next_seconds == LEASE / 1000
    assert changed == {"expand": {name: NOW + LEASE}, f"job:{name}": {"claim": "1"}}
    with changes(store) as changed:
        assert store.claim_map() == (None, LEASE / 1000)
    assert changed == {}


def test_expand_makes_the_jobs_and_lets_them_go(store: Store) -> None:
    run, claim = claimed(store)
    with changes(store) as changed:
        assert store.expand(claim, ITEMS)
    first, second = job_id(run, 1), job_id(run, 2)
    item = {
        "task": "kit.work", "executor": EXECUTOR, "priority": "50", "spec": "0", "level": "0",
        "state": "ready", "at": AT, "reason": "", "map": "0", "children": "0",
    }
    place = rank(new=True)
    assert changed == {
        f"job:{claim.job_id}": {
            "items": "2", "items_left": "2", "items_failed": "0", "made": "2", "numbers": "1-2", "reason": "",
        },
        f"job:{first}": {**item, "name": "work[0]"},
        f"job:{second}": {**item, "name": "work[1]"},
        f"run:{run}": {"jobs": "3", "left": "3", "ready": "2", "grown": "1"},
        f"run:{run}:inputs": {"1": '["a"]\n{}', "2": '["b"]\n{}'},
        f"new:{EXECUTOR}": {first: place, second: place},
        "rerank": dict.fromkeys((first, second), NOW + AGEING_STEP),
        "expand": {claim.job_id: None},
        "events": [("job", first, "created", "ready", ""), ("job", second, "created", "ready", "")],
        "wake": ["1"],
    }


def test_expand_of_nothing_completes_the_map_and_the_run(store: Store) -> None:
    run, claim = claimed(store)
    with changes(store) as changed:
        assert store.expand(claim, [])
    name = claim.job_id
    assert changed[f"run:{run}:results"] == {"0": "[]"}
    assert changed[f"job:{name}"].items() >= {"state": "completed", "reason": "map", "items": "0"}.items()
    assert changed["events"] == [("job", name, "active", "completed", "map"), ("run", run, "created", "completed", "")]
    assert changed["expand"] == {name: None}


def test_an_old_claim_changes_nothing(store: Store) -> None:
    _, claim = claimed(store)
    store.now_ms = NOW + LEASE
    store.claim_map()
    with changes(store) as changed:
        assert not store.expand(claim, ITEMS)
        assert not store.refuse_map(claim, {})
    assert changed == {}


def test_a_claim_of_a_run_that_is_cancelled_is_told_so(store: Store) -> None:
    run, claim = claimed(store)
    store.cancel_run(run)
    with changes(store) as changed:
        assert not store.expand(claim, ITEMS)
    assert changed == {"expand": {claim.job_id: None}}


def test_a_refused_map_fails_and_is_a_dead_letter(store: Store) -> None:
    run, claim = claimed(store)
    error = {"type": "MapError", "message": "no"}
    with changes(store) as changed:
        assert store.refuse_map(claim, error)
    name = claim.job_id
    assert changed == {
        f"job:{name}": {"state": "failed", "reason": "failed"},
        f"run:{run}": {"active": "0", "failed": "1", "left": "0", "state": "failed", "ended_at": AT},
        f"run:{run}:errors": {"0": json.dumps(error)},
        f"run:{run}:done": ["failed"],
        "dead": {name: NOW},
        "ended": {run: NOW},
        "expand": {name: None},
        "events": [("job", name, "active", "failed", "failed"), ("run", run, "created", "failed", "")],
        "wake": ["1"],
    }


def test_a_run_may_not_grow_beyond_its_numbers(store: Store) -> None:
    run, claim = claimed(store)
    store.client.hset(store.keys.run(run), "jobs", 999_999)
    assert not store.expand(claim, ITEMS)
    assert "more than 1000000 jobs" in store.client.hget(store.keys.errors(run), "0")
    assert run_state(store, run) == "failed"


def inner(function: Any, name: str = "page") -> Dag[..., Any]:
    return Dag(function, name, RunOptions())


def page(x: Any, language: Any = None) -> Any:
    return {"text": named("read", work)(x, same=language), "language": language}


class TestMapsOfDags:
    def test_the_graph_is_made_for_each_item(self, store: Store) -> None:
        def wire() -> Any:
            return inner(page).map(named("list")(), language=named("language")())

        run = started(store, wire)
        play(store, {"list": [{"$ref": 1}, "b"], "language": "de", "page[0]/read": "A", "page[1]/read": "B"})
        assert result(store, run, "page") == [{"text": "A", "language": "de"}, {"text": "B", "language": "de"}]
        assert result(store, run, "page[0]/item") == [{"$ref": 1}]
        first = number(store, run, "page[0]/read")
        assert store.client.hget(store.keys.inputs(run), str(first)) == (
            f'[{{"$ref":{first - 1},"path":[0]}}]\n{{"same":{{"$ref":1}}}}'
        )
        assert run_state(store, run) == "completed"

    def test_an_empty_list_gives_an_empty_list(self, store: Store) -> None:
        run = started(store, lambda: inner(page).map([]))
        expand(store)
        assert result(store, run, "page") == []
        assert run_state(store, run) == "completed"

    def test_maps_inside_and_maps_of_maps_work(self, store: Store) -> None:
        chapter = inner(lambda pages: work.map(pages), "chapter")
        book = inner(lambda chapters: chapter.map(chapters), "book")
        run = started(store, lambda: book.map([[[1, 2], []], []]))
        play(store, {})
        assert result(store, run, "book") == [[[1, 1], []], []]
        assert "book[0]/chapter[0]/work[1]" in reasons(store, run)

    def test_a_map_ends_when_all_of_its_graphs_has_ended(self, store: Store) -> None:
        def aside(x: Any) -> None:
            named("log", work)(x)

        run = started(store, lambda: named("after")().after(inner(aside, "aside").map([1])))
        expand(store)
        assert reasons(store, run)["aside"] == "active"
        play(store, {})
        assert result(store, run, "aside") == [None]

    def test_new_priorities_reach_graphs_that_are_not_made_yet(self, store: Store) -> None:
        run = started(store, lambda: inner(page).map([1]))
        store.reprioritise(run, priority=900)
        expand(store)
        read = job_id(run, number(store, run, "page[0]/read"))
        assert store.client.hget(store.keys.job(read), "priority") == "900"

    def test_a_run_that_has_grown_meanwhile_gets_other_numbers(self, store: Store) -> None:
        run = started(store, lambda: [inner(page).map([1]), inner(page, "other").map([2])])
        claim, _ = store.claim_map()
        other, _ = store.claim_map()
        assert claim is not None
        assert other is not None
        for each in (claim, other):
            graph = InnerGraph(each.graph)
            assert store.expand_graphs(each, 1, len(graph), lambda item, first, g=graph: g.instance(first, "n", (1,)))
        play(store, {})
        assert run_state(store, run) == "completed"

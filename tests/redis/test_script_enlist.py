"""enlist.lua: schedulers report for duty; and the orders that they take."""

from __future__ import annotations

import json
import threading

import pytest

from marie_celery.errors import MarieError, ServerError
from marie_celery.store.command import Command, SchedulerView
from marie_celery.store.store import Store
from tests.redis.redis_runs import NOW, changes

FACTS = {"host": "h", "graph": '{"turns": 1}'}


def test_a_scheduler_reports_for_duty(store: Store) -> None:
    with changes(store) as changed:
        store.enlist("s1", FACTS, exclusive=False)
    assert changed == {
        "schedulers": {"s1": NOW + 5_000},
        "scheduler:s1": {"host": "h", "graph": '{"turns": 1}', "seen_at": str(NOW), "exclusive": "0"},
    }
    (view,) = store.schedulers()
    assert (view.id, view.graph) == ("s1", {"turns": 1})


def test_the_next_heartbeat_only_says_that_it_lives(store: Store) -> None:
    store.enlist("s1", FACTS, exclusive=True)
    store.now_ms = NOW + 1_000
    with changes(store) as changed:
        store.enlist("s1", FACTS, exclusive=True)
    assert changed == {"schedulers": {"s1": NOW + 6_000}, "scheduler:s1": {"seen_at": str(NOW + 1_000)}}


def test_any_number_may_work_side_by_side(store: Store) -> None:
    for number in range(3):
        store.enlist(f"s{number}", {}, exclusive=False)
    assert [view.id for view in store.schedulers()] == ["s0", "s1", "s2"]


@pytest.mark.parametrize(("first", "second"), [(True, True), (True, False), (False, True)])
def test_one_that_must_be_alone_and_another_do_not_go_together(store: Store, first: bool, second: bool) -> None:
    store.enlist("s1", {}, exclusive=first)
    with changes(store) as changed, pytest.raises(ServerError, match="s1 is at work"):
        store.enlist("s2", {}, exclusive=second)
    assert changed == {}


def test_one_that_has_vanished_is_cleared_away_and_stands_in_nobodys_way(store: Store) -> None:
    store.enlist("s1", {}, exclusive=True)
    store.client.rpush(store.keys.commands("s1"), "{}")
    store.now_ms = NOW + 5_000
    with changes(store) as changed:
        store.enlist("s2", {}, exclusive=True)
    assert changed == {
        "schedulers": {"s1": None, "s2": NOW + 10_000},
        "scheduler:s1": {"seen_at": None, "exclusive": None},
        "scheduler:s1:commands": None,
        "scheduler:s2": {"seen_at": str(NOW + 5_000), "exclusive": "1"},
    }


def test_one_that_was_late_and_has_been_replaced_hears_it(store: Store) -> None:
    store.enlist("s1", {}, exclusive=True)
    store.now_ms = NOW + 5_000
    store.enlist("s2", {}, exclusive=True)
    with pytest.raises(ServerError, match="s2 is at work"):
        store.enlist("s1", {}, exclusive=True)


def test_one_that_was_late_and_not_replaced_goes_on(store: Store) -> None:
    store.enlist("s1", {}, exclusive=True)
    store.now_ms = NOW + 60_000
    store.enlist("s1", {}, exclusive=True)
    assert store.client.zscore(store.keys.schedulers, "s1") == NOW + 65_000


def test_one_that_retires_leaves_nothing_behind(store: Store) -> None:
    with changes(store) as changed:
        store.enlist("s1", FACTS, exclusive=False)
        store.client.rpush(store.keys.commands("s1"), "{}")
        store.retire("s1")
    assert changed == {}
    assert store.schedulers() == []


def test_a_scheduler_without_facts_has_an_empty_graph() -> None:
    assert SchedulerView("s1", {}).graph == {}


def carry_out_one(store: Store, answer: dict[str, object]) -> tuple[threading.Thread, list[Command]]:
    """A scheduler that takes one order."""
    taken: list[Command] = []

    def work() -> None:
        _, text = store.client.blpop([store.keys.commands("s1")], timeout=4)
        taken.append(Command.parse(text))
        store.answer(taken[0].id, answer)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, taken


def test_an_order_is_carried_out_and_answered(real_store: Store) -> None:
    thread, taken = carry_out_one(real_store, {"result": 7})
    assert real_store.command("s1", "planner", name="hrrn") == 7
    thread.join()
    assert (taken[0].verb, taken[0].arguments) == ("planner", {"name": "hrrn"})
    assert not real_store.client.exists(real_store.keys.answer(taken[0].id))


def test_an_order_that_is_refused_says_why(real_store: Store) -> None:
    thread, _ = carry_out_one(real_store, {"error": "there is no planner 'x'"})
    with pytest.raises(MarieError, match="there is no planner 'x'"):
        real_store.command("s1", "planner", name="x")
    thread.join()


def test_an_answer_that_nobody_takes_is_gone_after_a_minute(store: Store) -> None:
    store.answer("c1", {"result": "pong"})
    assert json.loads(store.client.lrange(store.keys.answer("c1"), 0, -1)[0]) == {"result": "pong"}
    assert 0 < store.client.ttl(store.keys.answer("c1")) <= 60


def test_a_scheduler_that_does_not_answer_is_named(real_store: Store) -> None:
    with pytest.raises(TimeoutError, match="the scheduler s1 gave no answer to 'ping'"):
        real_store.command("s1", "ping", timeout=0.01)


def test_an_order_is_text_that_can_be_read_again() -> None:
    assert Command.parse('{"id": "1", "verb": "ping"}') == Command("1", "ping", {})

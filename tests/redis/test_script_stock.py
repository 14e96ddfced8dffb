"""stock.lua: one look at all resources, and those who are short as capacity counts them."""

from __future__ import annotations

import pytest

from marie_celery.errors import UnknownResource
from marie_celery.resources import Delta
from marie_celery.resources.stock import Holding, Line, Stock, Waiter
from marie_celery.store.keys import attempt_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import EXECUTOR, NOW, WORKER, begin, changes, dispatch
from tests.redis.resource_kit import ask, declare, needing, ready_jobs, resource


def one(store: Store, name: str = "gpu", most: int = 10) -> Stock:
    (found,) = store.stock(name, most)
    return found


def test_units_their_holders_and_those_who_wait(store: Store) -> None:
    declare(store, "gpu", quantity=3)
    first, second, third = ready_jobs(store, needing("a", gpu=2), needing("b", gpu=2), needing("c", gpu=1))
    begin(store, first)
    settings = resource(kind="quantity", quantity=3)
    with changes(store) as changed:
        assert one(store) == Stock(
            "gpu",
            settings,
            settings,
            used_by_key={"*": 2},
            holders=1,
            holdings=(Holding(attempt_id(first, 1), 2, worker=WORKER),),
            lines=(Line("", 2, (Waiter(second, "b", EXECUTOR, 2), Waiter(third, "c", EXECUTOR, 1))),),
        )
    assert changed == {}
    assert (one(store).size, one(store).used, one(store).waiting) == (3, 2, 2)


def test_items_with_who_has_them_and_those_that_leave(store: Store) -> None:
    declare(store, "gpu", kind="discrete", items="g1,g2,g3")
    (name,) = ready_jobs(store, needing("a", gpu=2))
    dispatch(store, name)
    store.resize("gpu", Delta(add=("g4",), remove=("g1",)))
    found = one(store)
    assert found.holder_of == {"g1": f"{name}.1", "g2": f"{name}.1", "g3": None, "g4": None}
    assert found.holdings == (Holding(f"{name}.1", 2, items=("g1", "g2"), worker=""),)
    assert (found.free_items, found.leaving) == ({"g3", "g4"}, {"g1"})
    assert (found.used, found.size, found.is_resized) == (2, 3, True)


def test_each_key_has_its_own_count_and_line(store: Store) -> None:
    declare(store, "customer", kind="concurrency", limit=1)
    jobs = [needing(key + number, customer=(1, key)) for key in ("acme", "zeta") for number in ("1", "2", "3")]
    acme, *_, zeta = ready_jobs(store, *jobs, needing("z", customer=(1, "")))
    for each in (acme, zeta):
        begin(store, each)
    found = one(store, "customer", most=1)
    assert found.used_by_key == {"acme": 1, "*": 1}
    assert [(line.key, line.waiting, len(line.first)) for line in found.lines] == [("acme", 2, 1)]
    assert (found.waiting, found.holders, len(found.holdings)) == (2, 2, 1)


def test_the_tokens_of_a_rate_are_those_of_this_moment(store: Store) -> None:
    declare(store, "mails", kind="rate", rate=2, burst=4)
    for name in ready_jobs(store, needing("a", mails=3)):
        begin(store, name)
    assert one(store, "mails").used == 3
    store.now_ms = NOW + 500
    assert (one(store, "mails").nano_tokens, one(store, "mails").used) == (2_000_000_000, 2)
    store.now_ms = NOW + 60_000
    assert one(store, "mails").used == 0


def test_without_details_only_the_numbers_are_told(store: Store) -> None:
    declare(store, "gpu", quantity=1)
    declare(store, "alone", kind="highlander")
    first, *_ = ready_jobs(store, needing("a", gpu=1), needing("b", gpu=1))
    begin(store, first)
    alone, gpu = store.stock()
    assert (alone.name, alone.size, alone.used, alone.waiting) == ("alone", 1, 0, 0)
    assert (gpu.holders, gpu.holdings, gpu.lines) == (1, (), (Line("", 1),))


def test_what_an_operator_changed_stands_beside_what_was_declared(store: Store) -> None:
    declare(store, "gpu", quantity=2)
    assert not one(store).is_resized
    resized = store.resize("gpu", Delta(amount=3))
    assert (resized.before.most, resized.after.most) == (2, 5)
    assert (one(store).declared.most, one(store).current.most, one(store).is_resized) == (2, 5, True)


def test_an_unknown_resource_is_an_error_that_names_the_others(store: Store) -> None:
    declare(store, "gpu")
    with pytest.raises(UnknownResource, match="'gpus'; there are gpu"):
        store.stock("gpus")
    with pytest.raises(UnknownResource):
        store.resize("gpus", Delta(amount=1))


def test_who_is_short_is_ready_for_its_executor(store: Store) -> None:
    declare(store, "gpu", quantity=1)
    first, second, _ = ready_jobs(store, needing("a", gpu=1), needing("b", gpu=1), needing("c"))
    begin(store, first)
    (view,) = store.capacity()
    assert (view.ready, view.short) == (2, 1)
    store.finish(first, 1, WORKER, "1")
    (view,) = store.capacity()
    assert (view.ready, view.short) == (2, 0)
    assert [code.name for code in ask(store, second)] == ["OK"]


def test_reconcile_counts_who_was_forgotten(store: Store) -> None:
    declare(store, "gpu", quantity=1)
    first, second = ready_jobs(store, needing("a", gpu=1), needing("b", gpu=1))
    begin(store, first)
    store.client.delete(store.keys.parked(EXECUTOR))
    assert store.reconcile(second[:13]) == {second: "ready without a place"}
    assert store.client.zrange(store.keys.parked(EXECUTOR), 0, -1) == [second]
    assert store.reconcile(second[:13]) == {}

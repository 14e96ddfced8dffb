"""claims.lua and grant.lua: managers of the user's own, which decide in a scheduler for the whole cluster."""

from __future__ import annotations

import json
import logging
from random import Random

import pytest

from marie_celery.config import Settings
from marie_celery.resources import Request
from marie_celery.resources.own import Applicant, Decision, decide
from marie_celery.scheduler.supplier import Supplier
from marie_celery.store.codes import Code
from marie_celery.store.grants import Claims
from marie_celery.store.store import Store
from marie_celery.store.why import Because, why
from tests.redis.harbour import Harbour
from tests.redis.redis_runs import EXECUTOR, NOW, WORKER, begin, changes, put_in_force, rank
from tests.redis.resource_kit import ask, declare, left_over, line, needing, on_offer, ready_jobs

HARBOUR = "tests.redis.harbour:Harbour"


def settings(path: str = HARBOUR, **fields: str) -> Settings:
    return Settings(resources={"berth": {"kind": "own", "manager": path, **fields}})


@pytest.fixture
def supplier(store: Store) -> Supplier:
    declare(store, "berth", kind="own", manager=HARBOUR)
    return Supplier(store, settings())


def berths_in_use(store: Store) -> list[str]:
    """Granted or held."""
    held = store.client.hvals(store.keys.resource_holders("berth"))
    granted = store.client.hgetall(store.keys.resource_grants("berth"))
    for each in store.claims("berth").forgotten:
        del granted[each]
    return [*(json.loads(text)[2] for text in held), *granted.values()]


def state_of(store: Store) -> dict[str, object]:
    found: dict[str, object] = json.loads(store.client.hget(store.keys.resource_state("berth"), "state"))
    return found


class TestTheScripts:
    def test_a_job_stands_in_line_until_it_has_a_grant(self, store: Store, supplier: Supplier) -> None:
        (name,) = ready_jobs(store, needing("a", berth=20))
        assert (line(store, "berth"), on_offer(store)) == ([name], set())
        assert store.client.zscore(store.keys.supply, "berth") == NOW, "a scheduler is to look at once"
        assert ask(store, name) == [Code.EXHAUSTED]
        with changes(store) as changed:
            claims = store.claims("berth")
        assert changed == {}
        assert claims == Claims(NOW, 0, None, [], [], [Applicant(f"{name}.1", Request(20))])

    def test_a_grant_lets_it_go_and_the_dispatch_books_it(self, store: Store, supplier: Supplier) -> None:
        (name,) = ready_jobs(store, needing("a", berth=20))
        attempt = f"{name}.1"
        with changes(store) as changed:
            assert store.grant("berth", store.claims("berth"), Decision({"ships": 1}, {attempt: ("long",)})) == 1
        assert changed == {
            "resource:berth:state": {"version": "1", "state": '{"ships": 1}'},
            "resource:berth:grants": {attempt: "long"},
            "short:berth": {name: None},
            f"parked:{EXECUTOR}": {name: None},
            f"job:{name}": {"short": None},
            f"new:{EXECUTOR}": {name: rank(runtime=1274, new=True)},
            "wake": ["1"],
        }
        with changes(store) as changed:
            assert ask(store, name) == [Code.OK]
        assert changed["resource:berth:grants"] == {attempt: None}
        assert changed["resource:berth:holders"] == {attempt: '[20,"","long"]'}
        assert changed["resource:berth:used"] == {"*": "20"}
        started = store.start(name, 1, WORKER, attempt)
        assert started is not None
        assert started.items == {"berth": ("long",)}

    def test_a_decision_on_what_has_changed_meanwhile_is_not_written(self, store: Store, supplier: Supplier) -> None:
        (name,) = ready_jobs(store, needing("a", berth=20))
        claims, decision = store.claims("berth"), Decision({"ships": 1}, {f"{name}.1": ()})
        assert store.grant("berth", claims, Decision({})) == 0
        with changes(store) as changed:
            assert store.grant("berth", claims, decision) is None
        assert changed == {}

    def test_what_was_granted_to_one_that_left_meanwhile_is_returned(self, store: Store, supplier: Supplier) -> None:
        (name,) = ready_jobs(store, needing("a", berth=20))
        claims = store.claims("berth")
        store.cancel_job(name)
        with changes(store) as changed:
            assert store.grant("berth", claims, Decision({"ships": 1}, {f"{name}.1": ("long",)})) == 0
        assert changed == {
            "resource:berth:state": {"version": "1", "state": '{"ships": 1}'},
            "resource:berth:returned": [f"{name}.1"],
        }

    def test_who_was_passed_is_counted_and_time_may_help(self, store: Store, supplier: Supplier) -> None:
        first, second = ready_jobs(store, needing("a", berth=20), needing("b", berth=5))
        decision = Decision({}, {f"{second}.1": ()}, passed=f"{first}.1", passes=1, retry_at_ms=NOW + 700)
        store.client.zadd(store.keys.supply, {"berth": NOW + 5_000})
        store.grant("berth", store.claims("berth"), decision)
        assert store.claims("berth").applicants == [Applicant(f"{first}.1", Request(20), skips=1)]
        assert store.client.zscore(store.keys.supply, "berth") <= NOW + 700


class TestADuty:
    def test_berths_are_given_in_the_order_of_the_line_and_given_back(self, store: Store, supplier: Supplier) -> None:
        first, second, third = ready_jobs(
            store, needing("a", berth=20), needing("b", berth=25), needing("c", berth=5)
        )
        assert supplier.step() == (2, 5.0), "the line, and one that goes"
        assert (on_offer(store), line(store, "berth")) == ({first}, [second, third])
        begin(store, first)
        assert state_of(store) == {"ships": {"long": f"{first}.1"}}
        store.finish(first, 1, WORKER, "1")
        assert store.client.zscore(store.keys.supply, "berth") == NOW
        supplier.step()
        assert line(store, "berth") == []
        assert state_of(store) == {"ships": {"long": f"{second}.1", "short": f"{third}.1"}}

    def test_with_skip_whoever_fits_may_pass_until_max_skips(self, store: Store) -> None:
        declare(store, "berth", kind="own", manager=HARBOUR, on_shortage="skip")
        supplier = Supplier(store, settings().model_copy(update={"max_skips": 1}))
        _, second, third, fourth = ready_jobs(
            store, needing("a", berth=20), needing("b", berth=25), needing("c", berth=5), needing("d", berth=5)
        )
        supplier.step()
        assert line(store, "berth") == [second, fourth]
        begin(store, third)
        store.finish(third, 1, WORKER, "1")
        supplier.step()
        assert line(store, "berth") == [second, fourth], "the short berth is free, but b has been passed once"

    def test_who_can_never_be_served_stands_in_nobodys_way(self, store: Store, supplier: Supplier) -> None:
        giant, small = ready_jobs(store, needing("a", berth=99), needing("b", berth=5))
        supplier.step()
        assert (line(store, "berth"), on_offer(store)) == ([giant], {small})

    def test_the_grant_of_a_job_that_no_longer_waits_goes_to_the_next(self, store: Store, supplier: Supplier) -> None:
        first, second = ready_jobs(store, needing("a", berth=20), needing("b", berth=25))
        supplier.step()
        store.cancel_job(first)
        assert store.claims("berth").forgotten == [f"{first}.1"]
        supplier.step()
        assert (line(store, "berth"), state_of(store)) == ([], {"ships": {"long": f"{second}.1"}})
        assert store.client.hkeys(store.keys.resource_grants("berth")) == [f"{second}.1"]

    def test_a_retry_needs_a_new_grant(self, store: Store, supplier: Supplier) -> None:
        (name,) = ready_jobs(store, needing("a", berth=20))
        supplier.step()
        begin(store, name)
        store.leave(WORKER)
        assert line(store, "berth") == [name]
        supplier.step()
        assert state_of(store) == {"ships": {"long": f"{name}.2"}}

    def test_of_two_schedulers_that_decide_the_same_one_is_too_late(self, store: Store, supplier: Supplier) -> None:
        first, *_ = ready_jobs(store, needing("a", berth=20), needing("b", berth=20))
        claims = store.claims("berth")
        supplier.step()
        decision = decide(Harbour(), claims.returned, claims.applicants, NOW, 100)
        assert list(decision.grants) == [f"{first}.1"]
        assert store.grant("berth", claims, decision) is None
        assert on_offer(store) == {first}

    def test_a_path_from_redis_imports_nothing_that_the_settings_do_not_name(
        self, store: Store, caplog: pytest.LogCaptureFixture
    ) -> None:
        declare(store, "berth", kind="own", manager="os:system")
        ready_jobs(store, needing("a", berth=20))
        supplier = Supplier(store, settings())
        with caplog.at_level(logging.ERROR):
            supplier.step()
            supplier.step()
        assert [record.message for record in caplog.records] == [
            "resource 'berth' has the manager 'os:system', which the settings do not name"
        ]

    @pytest.mark.parametrize(
        "path", [*(f"tests.redis.harbour:{name}" for name in ("Stranded", "Forgetful", "Unfinished")), "nowhere:At"]
    )
    def test_a_manager_that_stumbles_stops_nobody_else(
        self, store: Store, caplog: pytest.LogCaptureFixture, path: str
    ) -> None:
        declare(store, "berth", kind="own", manager=path)
        declare(store, "gpu", quantity=1)
        mine, first, other = ready_jobs(store, needing("a", berth=20), needing("b", gpu=1), needing("c", gpu=1))
        assert ask(store, first) == [Code.OK]
        store.declare("gpu", store.resources()["gpu"].model_copy(update={"quantity": 2}))
        Supplier(store, settings(path)).step()
        assert "the manager of resource 'berth' stumbled" in caplog.text
        assert (line(store, "berth"), on_offer(store)) == ([mine], {other})

    def test_planners_that_do_not_park_wait_for_a_grant_as_well(self, store: Store, supplier: Supplier) -> None:
        put_in_force(store, "tours")
        (name,) = ready_jobs(store, needing("a", berth=20))
        assert (line(store, "berth"), on_offer(store)) == ([name], set())
        supplier.step()
        assert on_offer(store) == {name}
        assert ask(store, name) == [Code.OK]

    def test_and_stand_in_no_other_line_meanwhile(self, store: Store, supplier: Supplier) -> None:
        declare(store, "gpu", quantity=1)
        put_in_force(store, "tours")
        first, second = ready_jobs(store, needing("a", gpu=1), needing("b", berth=20, gpu=1))
        begin(store, first)
        store.now_ms = NOW + 5_000
        store.supply()
        assert (line(store, "berth"), line(store, "gpu")) == ([second], [])
        supplier.step()
        assert on_offer(store) == {second}, "the planner looks at it in each poll"

    @pytest.mark.parametrize("seed", range(10))
    def test_no_berth_ever_has_two_ships_and_all_are_served(self, store: Store, supplier: Supplier, seed: int) -> None:
        chance = Random(seed)
        waiting = set(ready_jobs(store, *(needing(f"s{n}", berth=chance.choice([5, 20])) for n in range(12))))
        lying: set[str] = set()
        late = store.claims("berth")
        while waiting or lying:
            match chance.choice(["decide", "decide late", "look", "arrive", "leave", "cancel"]):
                case "decide":
                    supplier.step()
                case "decide late":
                    harbour = Harbour() if late.state is None else Harbour.from_state(late.state)
                    gone = [*late.returned, *late.forgotten]
                    store.grant("berth", late, decide(harbour, gone, late.applicants, NOW, 100))
                case "look":
                    late = store.claims("berth")
                case "arrive":
                    for name in sorted(on_offer(store)):
                        begin(store, name)
                        lying.add(name)
                        waiting.discard(name)
                case "leave" if lying:
                    name = chance.choice(sorted(lying))
                    lying.discard(name)
                    assert store.finish(name, 1, WORKER, "1")
                case "cancel" if waiting and chance.random() < 0.1:
                    name = chance.choice(sorted(waiting))
                    waiting.discard(name)
                    store.cancel_job(name)
            berths = berths_in_use(store)
            assert len(berths) == len(set(berths))
        assert left_over(store) == {}

    def test_why_tells_that_there_is_no_grant(self, store: Store, supplier: Supplier) -> None:
        _, second = ready_jobs(store, needing("a", berth=20), needing("b", berth=25))
        supplier.step()
        (reason,) = [reason for reason in why(store, second).reasons if reason.code is Because.SHORT]
        assert reason.text == (
            "it asks for 25 of resource 'berth', whose manager has not granted it; it is number 1 of 1 in line"
        )

"""Why a job does not run that shares something with others: resources, highlanders, tenants."""

from __future__ import annotations

from dataclasses import replace

import pytest

from marie_celery.resources import Delta
from marie_celery.store.keys import attempt_id
from marie_celery.store.store import Store
from marie_celery.store.why import Because, Reason, why
from tests.redis.redis_runs import (
    EXECUTOR,
    NOW,
    WORKER,
    begin,
    changes,
    first_job,
    give_capacity,
    job,
    new_run,
    put_in_force,
    submit,
)
from tests.redis.resource_kit import ask, declare, needing, ready_jobs


@pytest.fixture
def at_work(store: Store) -> Store:
    """A cluster in which nothing is missing."""
    store.enlist("s1", {"host": "h"}, exclusive=False)
    give_capacity(store)
    return store


def only(store: Store, id: str, code: Because = Because.SHORT) -> Reason:
    """The one reason that there is."""
    with changes(store) as changed:
        (reason,) = why(store, id).reasons
    assert changed == {}, "asking changes nothing"
    assert reason.code is code
    assert reason.next
    return reason


class TestShort:
    def test_tells_what_it_asks_what_is_left_who_has_it_and_its_place(self, at_work: Store) -> None:
        declare(at_work, "gpu", quantity=3)
        first, second, third = ready_jobs(at_work, needing("a", gpu=2), needing("b", gpu=2), needing("c", gpu=1))
        begin(at_work, first)
        attempt = attempt_id(first, 1)
        reason = only(at_work, second)
        assert reason.text == (
            f"it asks for 2 of resource 'gpu', and 1 of 3 are left, held by {attempt} on {WORKER} (2); "
            "it is number 1 of 2 in line"
        )
        assert reason.next == "a holder gives it back; more of it: marie resize gpu --by +1"
        assert reason.facts == {
            "resource": "gpu",
            "kind": "quantity",
            "key": "",
            "amount": 2,
            "left": 1,
            "size": 3,
            "fits": True,
            "on_shortage": "hold",
            "place": 1,
            "waiting": 2,
            "kept_for": None,
            "enough_ms": None,
            "holders": [{"attempt": attempt, "amount": 2, "items": (), "worker": WORKER}],
        }
        reason = only(at_work, third)
        assert reason.text == (
            f"it asks for 1 of resource 'gpu', and what is left (1) is kept for b of run {second[:13]}: "
            "on_shortage is hold; it is number 2 of 2 in line"
        )
        assert (reason.facts["kept_for"], reason.next) == ({"job": second, "name": "b"}, "that b gets what it needs")

    def test_after_max_skips_it_is_kept_for_the_one_that_was_passed(self, at_work: Store) -> None:
        put_in_force(at_work, "global", on_shortage="skip", max_skips=1)
        declare(at_work, "gpu", quantity=3)
        jobs = [needing("a", gpu=2), needing("big", gpu=3), needing("c", gpu=1), needing("d", gpu=1)]
        first, big, third, fourth = ready_jobs(at_work, *jobs)
        assert [code.name for code in ask(at_work, first, big, third, fourth)] == ["OK", "SHORT", "OK", "EXHAUSTED"]
        at_work.finish(first, begin_again(at_work, first), WORKER, "1")
        reason = only(at_work, fourth)
        assert reason.text.endswith(
            f"is kept for big of run {big[:13]}: it has been passed max_skips times; it is number 2 of 2 in line"
        )

    def test_a_rate_tells_when_there_will_be_enough(self, at_work: Store) -> None:
        declare(at_work, "mails", kind="rate", rate=2, burst=3)
        first, second = ready_jobs(at_work, needing("a", mails=3), needing("b", mails=3))
        begin(at_work, first)
        reason = only(at_work, second)
        assert reason.text == "it asks for 3 of resource 'mails', and 0 of 3 are left; it is number 1 of 1 in line"
        assert reason.next == "time: there will be enough in 1.5 s"
        assert reason.facts["enough_ms"] == NOW + 1_500

    def test_what_has_become_too_small_never_fits(self, at_work: Store) -> None:
        declare(at_work, "gpu", kind="discrete", items="g1,g2,g3")
        first, second = ready_jobs(at_work, needing("a", gpu=1), needing("b", gpu=3))
        begin(at_work, first)
        at_work.resize("gpu", Delta(remove=("g2", "g3")))
        reason = only(at_work, second)
        assert reason.text == "it asks for 3 of resource 'gpu', which has become too small: there are 1"
        assert reason.next == "more of it: marie resize gpu --add …, or cancel the job"
        assert reason.facts["fits"] is False

    def test_a_key_has_its_own_holders(self, at_work: Store) -> None:
        declare(at_work, "customer", kind="concurrency", limit=1)
        acme, zeta, waits = ready_jobs(
            at_work,
            needing("a", customer=(1, "acme")),
            needing("z", customer=(1, "zeta")),
            needing("b", customer=(1, "acme")),
        )
        for each in (acme, zeta):
            begin(at_work, each)
        reason = only(at_work, waits)
        assert reason.text.startswith("it asks for 1 of resource 'customer' under 'acme', and 0 of 1 are left, held by")
        assert [holder["attempt"] for holder in reason.facts["holders"]] == [f"{acme}.1"]

    def test_one_that_nobody_declared(self, at_work: Store) -> None:
        (name,) = ready_jobs(at_work, needing("a", licence=1))
        reason = only(at_work, name)
        assert reason.text == "it asks for 1 of resource 'licence', which nobody has declared"

    def test_what_was_freed_since_waits_for_the_next_look(self, at_work: Store) -> None:
        declare(at_work, "gpu", quantity=1)
        first, second = ready_jobs(at_work, needing("a", gpu=1), needing("b", gpu=1))
        begin(at_work, first)
        at_work.resize("gpu", Delta(amount=1))
        assert only(at_work, second).next == "the next look of a scheduler at the line"
        at_work.supply()
        assert why(at_work, second).codes == [Because.IN_LINE]

    def test_each_resource_has_its_reason(self, at_work: Store) -> None:
        declare(at_work, "gpu", quantity=1)
        declare(at_work, "memory", quantity=1)
        first, second = ready_jobs(at_work, needing("a", gpu=1, memory=1), needing("b", gpu=1, memory=1))
        begin(at_work, first)
        reasons = why(at_work, second).reasons
        assert [(reason.code, reason.facts["resource"]) for reason in reasons] == [
            (Because.SHORT, "gpu"),
            (Because.SHORT, "memory"),
        ]

    def test_a_run_tells_of_those_that_are_short_apart_from_those_in_line(self, at_work: Store) -> None:
        declare(at_work, "gpu", quantity=1)
        first, *_ = ready_jobs(at_work, needing("a", gpu=1), needing("b", gpu=1), needing("c"), needing("d", gpu=1))
        begin(at_work, first)
        texts = [reason.text for reason in why(at_work, first[:13]).reasons]
        assert texts[1].startswith(f"2 jobs ready on '{EXECUTOR}', first b: it asks for 1 of resource 'gpu'")
        assert texts[2].startswith(f"1 job ready on '{EXECUTOR}', first c: it is number 1")

    def test_planners_that_do_not_park_are_short_all_the_same(self, at_work: Store) -> None:
        declare(at_work, "gpu", quantity=1)
        first, second = ready_jobs(at_work, needing("a", gpu=1), needing("b", gpu=1))
        put_in_force(at_work, "tours")
        at_work.advance()
        begin(at_work, first)
        reason, *_ = why(at_work, second).reasons
        assert (reason.code, reason.facts["place"], reason.facts["left"]) == (Because.SHORT, None, 0)


def begin_again(store: Store, id: str) -> int:
    """Start what was sent already."""
    assert store.start(id, 1, WORKER, attempt_id(id, 1))
    return 1


def test_a_run_waits_for_the_one_that_is_under_way(at_work: Store) -> None:
    runs = [replace(new_run([job("a")], highlander="nightly"), highlander="nightly") for _ in range(2)]
    first = first_job(at_work, runs[0])
    begin(at_work, first)
    second = first_job(at_work, runs[1])
    reason = only(at_work, second, Because.HIGHLANDER)
    assert reason.text == f"only one run of 'nightly' may be under way, and {first[:13]} is"
    assert reason.next == f"the end of run {first[:13]}"
    assert reason.facts == {"name": "nightly", "run": first[:13]}
    assert Because.HIGHLANDER in why(at_work, second[:13]).codes
    at_work.finish(first, 1, WORKER, "1")
    assert why(at_work, second).codes == [Because.IN_LINE]


class TestTenants:
    def test_a_job_tells_the_share_of_its_tenant(self, at_work: Store) -> None:
        at_work.set_weight("acme", 3)
        mine = first_job(at_work, new_run([job("a", tenant="acme", estimate=1_000)]))
        begin(at_work, mine)
        other = first_job(at_work, new_run([job("z", tenant="zeta", estimate=1_000)]))
        waits = first_job(at_work, new_run([job("b", tenant="acme", estimate=1_000)]))
        share, in_line = why(at_work, waits).reasons
        assert share.text == (
            f"its tenant 'acme' has 75% of the slot time of '{EXECUTOR}' among 2 with work, and is number 2 by what "
            "they have had"
        )
        assert share.facts == {
            "executor": EXECUTOR,
            "tenant": "acme",
            "weight": 3.0,
            "share": 0.75,
            "place": 2,
            "tenants": 2,
        }
        assert in_line.text.endswith("by the planner 'global', among those of tenant 'acme'")
        assert (in_line.facts["place"], in_line.facts["waiting"]) == (1, 1)
        assert why(at_work, other).reasons[0].next == "the next choice is of its jobs"

    def test_who_names_none_shares_with_them(self, at_work: Store) -> None:
        submit(at_work, new_run([job("a", tenant="acme")]))
        share, _ = why(at_work, first_job(at_work)).reasons
        assert share.text.startswith("whoever names no tenant has 50% of the slot time")

    def test_alone_there_is_nothing_to_share(self, at_work: Store) -> None:
        waits = first_job(at_work, new_run([job("a", tenant="acme")]))
        assert why(at_work, waits).codes == [Because.IN_LINE]

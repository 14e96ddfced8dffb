"""Resources in the scripts: booked with the slot, all or nothing, and given back at every end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from marie_celery.model.retry import FailureKind
from marie_celery.resources import Delta
from marie_celery.store.codes import Code
from marie_celery.store.keys import attempt_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    EXECUTOR,
    NOW,
    WORKER,
    advance_to_the_end,
    begin,
    changes,
    dump,
    give_capacity,
    put_in_force,
    rank,
)
from tests.redis.resource_kit import ask, declare, left_over, line, needing, on_offer, ready_jobs

OK, SHORT, EXHAUSTED = Code.OK, Code.SHORT, Code.EXHAUSTED


class TestBooking:
    def test_slot_and_resources_are_booked_in_one_step(self, store: Store) -> None:
        declare(store, "gpu", kind="discrete", items="g1,g2,g3")
        declare(store, "memory", quantity=8)
        declare(store, "customer", kind="concurrency", limit=1)
        (name,) = ready_jobs(store, needing(gpu=2, memory=5, customer=(1, "acme")))
        run, attempt = name[:13], attempt_id(name, 1)
        with changes(store) as changed:
            assert ask(store, name) == [OK]
        assert changed == {
            f"job:{name}": {"state": "dispatched", "token": "1"},
            f"run:{run}": {"ready": "0", "dispatched": "1", "state": "active", "started_at": str(NOW)},
            "active": {run: NOW},
            f"new:{EXECUTOR}": {name: None},
            "rerank": {name: None},
            f"slots:{EXECUTOR}": {attempt: NOW + 5_000},
            "bookings": {attempt: '[["customer",""],["gpu","g1,g2"],["memory",""]]'},
            "resource:gpu:free": {"g1": None, "g2": None},
            "resource:gpu:holders": {attempt: '[2,"","g1,g2"]'},
            "resource:memory:used": {"*": "5"},
            "resource:memory:holders": {attempt: '[5,"",""]'},
            "resource:customer:used": {"acme": "1"},
            "resource:customer:holders": {attempt: '[1,"acme",""]'},
            "events": [("job", name, "ready", "dispatched", ""), ("run", run, "created", "active", "")],
        }
        started = store.start(name, 1, WORKER, attempt)
        assert started
        assert started.items == {"gpu": ("g1", "g2")}

    def test_it_is_all_or_nothing(self, store: Store) -> None:
        declare(store, "memory", quantity=8)
        declare(store, "gpu", quantity=1)
        first, second = ready_jobs(store, needing("a", gpu=1), needing("b", gpu=1, memory=1))
        begin(store, first)
        (late,) = ready_jobs(store, needing("c", memory=1))
        store.client.hset(store.keys.job(late), "needs", '[["gpu",1,""],["memory",1,""]]')
        with changes(store) as changed:
            assert ask(store, late) == [EXHAUSTED]
        assert changed == {
            f"job:{late}": {"short": '["gpu"]', "stood": str(rank(runtime=1274, new=True))},
            f"new:{EXECUTOR}": {late: None},
            "short:gpu": {late: rank(runtime=1274, new=True)},
            f"parked:{EXECUTOR}": {late: rank(runtime=1274, new=True)},
        }
        assert line(store) == [second, late]
        assert left_over(store) == {
            "bookings": {attempt_id(first, 1): '[["gpu",""]]'},
            "gpu used": {"*": "1"},
            "gpu holders": {attempt_id(first, 1): '[1,"",""]'},
        }

    def test_the_answer_tells_short_from_exhausted(self, store: Store) -> None:
        declare(store, "memory", quantity=4)
        big, bigger, rest = ready_jobs(store, needing("a", memory=3), needing("b", memory=2), needing("c", memory=1))
        assert ask(store, big, bigger) == [OK, SHORT]
        assert ask(store, rest) == [EXHAUSTED], "kept for the one before"

    def test_a_resource_that_nobody_declared_is_never_there(self, store: Store) -> None:
        (name,) = ready_jobs(store, needing(licence=1))
        assert line(store, "licence") == [name]
        declare(store, "licence")
        store.supply()
        assert ask(store, name) == [OK]

    def test_a_job_that_needs_none_of_it_is_not_concerned(self, store: Store) -> None:
        declare(store, "gpu", kind="discrete", items="g1")
        users = [needing(f"u{number}", gpu=1, priority=99) for number in range(300)]
        *gpus, free = ready_jobs(store, *users, needing("free", priority=1))
        assert ask(store, gpus[0]) == [OK]
        for each in gpus[1:]:
            ask(store, each)
        assert on_offer(store) == {free}, "three hundred of them hide nobody"
        assert ask(store, free) == [OK]

    def test_a_full_executor_hides_nobody_elses_work(self, store: Store) -> None:
        declare(store, "gpu", quantity=1)
        here, there, other = ready_jobs(
            store, needing("a", gpu=1), needing("b", gpu=1, executor="far"), needing("c", executor="far"), slots=1
        )
        assert ask(store, here, there, other) == [OK, EXHAUSTED, OK]


def cancel_and_stop(store: Store, job: str, token: int) -> None:
    store.cancel_job(job)
    assert left_over(store), "the process still runs"
    store.fail(job, token, WORKER, FailureKind.CRASH, {})


def expire_and_reap(store: Store, job: str, token: int) -> None:
    store.reprioritise(job, hard=None)
    store.cancel_job(job)
    store.now_ms = NOW + 61_000
    store.reap()


def lose_the_worker(store: Store, job: str, token: int) -> None:
    store.now_ms = NOW + 61_000
    store.reap()


ENDS: dict[str, Callable[[Store, str, int], object]] = {
    "finish": lambda store, job, token: store.finish(job, token, WORKER, "1"),
    "skip": lambda store, job, token: store.skip(job, token, WORKER, "no"),
    "retry": lambda store, job, token: store.fail(job, token, WORKER, FailureKind.FAILURE, {}),
    "failure": lambda store, job, token: store.fail(job, token, WORKER, FailureKind.FAILURE, {}, give_up=True),
    "cancel": cancel_and_stop,
    "expiry": expire_and_reap,
    "lost worker": lose_the_worker,
    "cold shutdown": lambda store, job, token: store.leave(WORKER),
}


class TestGivingBack:
    @pytest.mark.parametrize("end", ENDS)
    def test_everything_is_given_back(self, store: Store, end: str) -> None:
        declare(store, "gpu", kind="discrete", items="g1,g2")
        declare(store, "memory", quantity=3)
        declare(store, "customer", kind="concurrency", limit=1)
        declare(store, "one", kind="highlander")
        give_capacity(store)
        (name,) = ready_jobs(store, needing(gpu=2, memory=3, customer=(1, "acme"), one=1))
        token = begin(store, name)
        ENDS[end](store, name, token)
        assert left_over(store) == {}

    def test_a_dispatch_that_nobody_started_gives_back_when_it_is_sent_again(self, store: Store) -> None:
        declare(store)
        (name,) = ready_jobs(store, needing(gpu=2))
        ask(store, name)
        store.now_ms = NOW + 5_000
        store.reap()
        assert left_over(store) == {}
        give_capacity(store, worker="w2")
        assert ask(store, name) == [OK]

    def test_who_waits_is_on_offer_again_in_the_same_step(self, store: Store) -> None:
        declare(store, quantity=1)
        first, second, third = ready_jobs(store, *(needing(name, gpu=1) for name in "abc"))
        token = begin(store, first)
        assert ask(store, second, third) == [EXHAUSTED, EXHAUSTED]
        store.finish(first, token, WORKER, "1")
        assert on_offer(store) == {second}
        assert line(store) == [third]
        assert ask(store, second) == [OK]

    def test_what_has_no_slot_any_more_has_no_resource_either(self, store: Store) -> None:
        declare(store, quantity=1)
        first, second = ready_jobs(store, needing("a", gpu=1), needing("b", gpu=1))
        assert ask(store, first, second) == [OK, EXHAUSTED]
        store.client.zrem(store.keys.slots(EXECUTOR), attempt_id(first, 1))
        store.now_ms = NOW + 5_000
        assert store.supply()[0] == 1
        assert left_over(store) == {}
        assert on_offer(store) == {second}


class TestHold:
    def test_what_is_freed_gathers_for_the_first_in_line(self, store: Store) -> None:
        declare(store, "memory", quantity=4)
        a, b, large, small = ready_jobs(
            store, needing("a", memory=2), needing("b", memory=2), needing("l", memory=3), needing("s", memory=1)
        )
        tokens = [begin(store, a), begin(store, b)]
        assert ask(store, large, small) == [EXHAUSTED, EXHAUSTED]
        store.finish(a, tokens[0], WORKER, "1")
        assert line(store, "memory") == [large, small], "two are free, and kept for the one that needs three"
        store.finish(b, tokens[1], WORKER, "1")
        assert on_offer(store) == {large, small}

    def test_a_better_job_that_comes_later_goes_first(self, store: Store) -> None:
        declare(store, "memory", quantity=4)
        a, large = ready_jobs(store, needing("a", memory=2), needing("l", memory=4))
        begin(store, a)
        assert ask(store, large) == [SHORT]
        (urgent,) = ready_jobs(store, needing("u", memory=2, priority=100))
        assert ask(store, urgent) == [EXHAUSTED], "runs that have begun come before new ones"
        store.reprioritise(large, priority=0)
        (deeper,) = ready_jobs(store, needing("d", memory=2))
        assert deeper in line(store, "memory")

    def test_when_the_first_in_line_is_cancelled_the_next_can_go(self, store: Store) -> None:
        declare(store, "memory", quantity=4)
        a, large, small = ready_jobs(
            store, needing("a", memory=2), needing("l", memory=4), needing("s", memory=1)
        )
        begin(store, a)
        assert ask(store, large, small) == [SHORT, EXHAUSTED]
        store.cancel_job(large)
        assert store.peek(0, 10).due_ms["supplier"] == 0
        store.supply()
        assert on_offer(store) == {small}

    def test_a_job_that_is_short_of_two_things_keeps_both(self, store: Store) -> None:
        declare(store, "gpu", quantity=1)
        declare(store, "memory", quantity=2)
        a, b, both, small = ready_jobs(
            store, needing("a", gpu=1), needing("b", memory=1), needing("c", gpu=1, memory=2), needing("s", memory=1)
        )
        token = begin(store, a)
        begin(store, b)
        assert ask(store, both, small) == [EXHAUSTED, EXHAUSTED]
        store.finish(a, token, WORKER, "1")
        assert line(store, "memory") == [both, small]


    def test_who_now_lacks_something_else_keeps_nothing_from_others(self, store: Store) -> None:
        declare(store, "memory", quantity=1)
        declare(store, "calls", kind="rate", rate=1, burst=1)
        a, both, other = ready_jobs(
            store, needing("a", memory=1), needing("b", memory=1, calls=1), needing("c", memory=1)
        )
        (caller,) = ready_jobs(store, needing("d", calls=1))
        token = begin(store, a)
        assert ask(store, both, other) == [EXHAUSTED, EXHAUSTED]
        assert ask(store, caller) == [OK]
        store.finish(a, token, WORKER, "1")
        assert line(store, "calls") == [both]
        store.supply()
        assert on_offer(store) == {other}


    def test_those_who_wait_do_not_pass_each_other_by_what_is_learned_meanwhile(self, store: Store) -> None:
        declare(store, quantity=1)
        a, first, second = ready_jobs(store, *(needing(name, gpu=1) for name in "abc"))
        token = begin(store, a)
        assert ask(store, first, second) == [EXHAUSTED, EXHAUSTED]
        for each in (first, second):
            store.client.hset(store.keys.job(each), "estimate", 900_000)  # now they rank behind where they stand
        store.finish(a, token, WORKER, "1")
        assert on_offer(store) == {first}
        assert ask(store, first) == [OK]
        assert line(store) == [second]


class TestSkip:
    def test_later_jobs_that_fit_may_pass(self, store: Store) -> None:
        declare(store, "memory", quantity=4, on_shortage="skip")
        a, large, small = ready_jobs(
            store, needing("a", memory=2), needing("l", memory=4), needing("s", memory=1)
        )
        begin(store, a)
        assert ask(store, large, small) == [SHORT, OK]
        assert store.client.hget(store.keys.job(large), "skips") == "1"

    def test_a_large_job_is_not_starved(self, store: Store) -> None:
        put_in_force(store, "global", on_shortage="skip", max_skips=3)
        declare(store, "memory", quantity=4)
        a, large, *small = ready_jobs(
            store,
            needing("a", memory=1),
            needing("l", memory=4),
            *(needing(f"s{number}", memory=1) for number in range(10)),
            slots=100,
        )
        token = begin(store, a)
        assert ask(store, large) == [SHORT]
        passed = 0
        for number, each in enumerate(small):
            if ask(store, each) == [OK]:
                passed += 1
                attempt = attempt_id(each, 1)
                assert store.start(each, 1, WORKER, attempt)
                store.finish(each, 1, WORKER, "1")
            else:
                assert number == 3
                break
        assert passed == 3
        store.finish(a, token, WORKER, "1")
        assert ask(store, large) == [OK]

    @pytest.mark.parametrize(("own", "answer"), [("skip", OK), ("hold", EXHAUSTED)])
    def test_a_manager_an_executor_and_the_settings_may_say_which_in_this_order(
        self, store: Store, own: str, answer: Code
    ) -> None:
        put_in_force(store, "global", on_shortage="hold" if own == "skip" else "skip")
        store.set_shortage_mode(EXECUTOR, own)
        declare(store, "memory", quantity=4)
        a, large, small = ready_jobs(store, needing("a", memory=2), needing("l", memory=4), needing("s", memory=1))
        begin(store, a)
        assert ask(store, large, small) == [SHORT, answer]


class TestKeys:
    def test_one_customer_never_stands_in_the_way_of_another(self, store: Store) -> None:
        declare(store, "customer", kind="concurrency", limit=1)
        acme, again, other = ready_jobs(
            store, *(needing(f"j{number}", customer=(1, key)) for number, key in enumerate(("acme", "acme", "zeta")))
        )
        assert ask(store, acme, again, other) == [OK, EXHAUSTED, OK]
        assert line(store, "customer/acme") == [again]

    def test_highlanders_at_the_head_never_stop_the_rest(self, store: Store) -> None:
        declare(store, "one", kind="highlander")
        first, second, third, free = ready_jobs(
            store, *(needing(name, one=1) for name in "abc"), needing("free", priority=0)
        )
        assert ask(store, first, second, third, free) == [OK, EXHAUSTED, EXHAUSTED, OK]


class TestItems:
    def test_removing_and_adding_a_booked_item_never_books_it_twice(self, store: Store) -> None:
        declare(store, "gpu", kind="discrete", items="g1")
        first, second = ready_jobs(store, needing("a", gpu=1), needing("b", gpu=1))
        token = begin(store, first)
        store.resize("gpu", Delta(remove=("g1",)))
        store.resize("gpu", Delta(add=("g1",)))
        assert ask(store, second) == [EXHAUSTED]
        store.finish(first, token, WORKER, "1")
        assert ask(store, second) == [OK]
        assert store.client.zrange(store.keys.resource_items("gpu"), 0, -1) == ["g1"]

    def test_a_removed_item_goes_when_it_is_given_back(self, store: Store) -> None:
        declare(store, "gpu", kind="discrete", items="g1,g2")
        (first,) = ready_jobs(store, needing("a", gpu=1))
        token = begin(store, first)
        store.resize("gpu", Delta(remove=("g1",)))
        store.finish(first, token, WORKER, "1")
        assert store.client.zrange(store.keys.resource_items("gpu"), 0, -1) == ["g2"]
        assert store.client.zrange(store.keys.resource_free("gpu"), 0, -1) == ["g2"]

    def test_items_are_given_out_in_their_order(self, store: Store) -> None:
        declare(store, "gpu", kind="discrete", items="b,a,c")
        first, second = ready_jobs(store, needing("x", gpu=2), needing("y", gpu=1))
        token = begin(store, first)
        store.finish(first, token, WORKER, "1")
        assert ask(store, second) == [OK]
        assert store.client.hgetall(store.keys.bookings) == {attempt_id(second, 1): '[["gpu","b"]]'}


class TestRate:
    def test_tokens_come_with_time(self, store: Store) -> None:
        declare(store, "mails", kind="rate", rate=2, burst=1)
        first, second, third = ready_jobs(store, *(needing(name, mails=1) for name in "abc"))
        assert ask(store, first, second, third) == [OK, EXHAUSTED, EXHAUSTED]
        assert store.supply() == (1, 0.5)
        assert store.peek(0, 10).due_ms["supplier"] == 500
        store.now_ms = NOW + 499
        assert store.supply() == (0, 0.001)
        store.now_ms = NOW + 500
        store.supply()
        assert on_offer(store) == {second}
        assert ask(store, second) == [OK]

    def test_a_look_that_comes_late_makes_up_for_it_if_somebody_waited(self, store: Store) -> None:
        declare(store, "mails", kind="rate", rate=50, burst=1)
        jobs = ready_jobs(store, *(needing(f"j{number}", mails=1) for number in range(10)), slots=100)
        ask(store, *jobs)
        store.now_ms = NOW + 80
        store.supply()
        assert len(on_offer(store)) == 4
        assert ask(store, *sorted(on_offer(store))) == [OK] * 4

    def test_nothing_is_saved_up_while_nobody_waits(self, store: Store) -> None:
        declare(store, "mails", kind="rate", rate=50, burst=2)
        store.now_ms = NOW + 60_000
        jobs = ready_jobs(store, *(needing(f"j{number}", mails=1) for number in range(10)), slots=100)
        assert ask(store, *jobs).count(OK) == 2

    def test_a_spent_token_does_not_come_back(self, store: Store) -> None:
        declare(store, "mails", kind="rate", rate=1, burst=1)
        first, second = ready_jobs(store, needing("a", mails=1), needing("b", mails=1))
        store.finish(first, begin(store, first), WORKER, "1")
        assert ask(store, second) == [EXHAUSTED]


class TestResizing:
    def test_declaring_again_changes_only_what_was_declared_otherwise(self, store: Store) -> None:
        declare(store, quantity=2)
        store.resize("gpu", Delta(amount=3))
        declare(store, quantity=2)
        assert store.resources()["gpu"].most == 5
        declare(store, quantity=4)
        assert store.resources()["gpu"].most == 7

    def test_growing_lets_those_go_who_wait(self, store: Store) -> None:
        declare(store, quantity=1)
        first, second = ready_jobs(store, needing("a", gpu=1), needing("b", gpu=1))
        assert ask(store, first, second) == [OK, EXHAUSTED]
        store.resize("gpu", Delta(amount=1))
        store.supply()
        assert ask(store, second) == [OK]

    def test_shrinking_leaves_in_peace_what_runs(self, store: Store) -> None:
        declare(store, quantity=3)
        first, second = ready_jobs(store, needing("a", gpu=2), needing("b", gpu=1))
        token = begin(store, first)
        store.resize("gpu", Delta(amount=-2))
        assert ask(store, second) == [EXHAUSTED]
        store.finish(first, token, WORKER, "1")
        assert ask(store, second) == [OK]

    def test_two_who_both_add_one_have_added_two(self, store: Store) -> None:
        declare(store, quantity=1)
        for _ in range(2):
            store.resize("gpu", Delta(amount=1))
        assert store.resources()["gpu"].most == 3

    def test_a_change_by_somebody_else_meanwhile_is_not_overwritten(self, store: Store) -> None:
        declare(store)
        with changes(store) as changed:
            answer = store.call("resize", "gpu", "an old definition", "{}", "quantity", 9, 0, "", "", 0, 0)
        assert answer == [Code.STALE]
        assert changed == {}

    def test_all_that_it_writes(self, store: Store) -> None:
        with changes(store) as changed:
            declare(store, "gpu", kind="discrete", items="g1,g2", on_shortage="skip")
        text = changed["resources"]["gpu"]
        assert changed == {
            "resources": {"gpu": text},
            "resource:gpu": {"kind": "discrete", "size": "2", "on_shortage": "skip", "items": "2"},
            "resource:gpu:items": {"g1": 1, "g2": 2},
            "resource:gpu:free": {"g1": 1, "g2": 2},
            "events": [("resource", "gpu", "", "defined", text)],
            "wake": ["1"],
        }


class TestOtherPlanners:
    def test_a_swap_gives_those_in_line_their_new_rank(self, store: Store) -> None:
        declare(store, quantity=1)
        first, low, high = ready_jobs(
            store, needing("a", gpu=1), needing("l", gpu=1, priority=10), needing("h", gpu=1, priority=90)
        )
        assert ask(store, first, low, high) == [OK, EXHAUSTED, EXHAUSTED]
        assert line(store) == [high, low]
        put_in_force(store, "fifo")
        advance_to_the_end(store)
        assert line(store) == [low, high]

    def test_a_held_job_leaves_its_line_and_comes_back_to_it(self, store: Store) -> None:
        declare(store, quantity=1)
        first, second = ready_jobs(store, needing("a", gpu=1), needing("b", gpu=1))
        assert ask(store, first, second) == [OK, EXHAUSTED]
        store.hold("job", second)
        assert line(store) == []
        store.let_go("job", second)
        assert line(store) == [second]


def test_nothing_of_an_ended_run_is_left_in_the_lines(store: Store) -> None:
    declare(store, quantity=1)
    first, second = ready_jobs(store, needing("a", gpu=1), needing("b", gpu=1))
    ask(store, first, second)
    store.cancel_run(first[:13])
    store.now_ms = NOW + 10_000
    store.reap()
    store.supply()
    found = dump(store)
    assert not [key for key in found if key.startswith(("short:", "bookings", "supply"))]


def test_reconcile_finds_nothing_wrong_with_a_job_in_line(store: Store) -> None:
    declare(store, quantity=1)
    first, second = ready_jobs(store, needing("a", gpu=1), needing("b", gpu=1))
    ask(store, first, second)
    assert store.reconcile(first[:13]) == {}
    store.client.zrem(store.keys.short("gpu"), second)
    assert store.reconcile(first[:13]) == {second: "ready without a place"}
    assert line(store) == [second]

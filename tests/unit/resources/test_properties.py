"""What holds after any history of bookings, releases and changes of size."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from marie_celery.resources import (
    Answer,
    ConcurrencyManager,
    Delta,
    DiscreteManager,
    HighlanderManager,
    QuantityManager,
    RateManager,
    Request,
    book_all,
)
from marie_celery.resources.booking import Manager
from marie_celery.resources.rate import TOKEN

HOLDERS = st.sampled_from(["h1", "h2", "h3", "h4"])
KEYS = st.sampled_from(["", "a", "b"])
ITEMS = st.lists(st.sampled_from(["i1", "i2", "i3", "i4", "i5"]), unique=True, max_size=3).map(tuple)
BOOK = st.tuples(st.just("book"), HOLDERS, st.builds(Request, st.integers(0, 6), KEYS))
RELEASE = st.tuples(st.just("release"), HOLDERS, st.none())


def histories(resizes: st.SearchStrategy[Delta]) -> st.SearchStrategy[list[Any]]:
    resize = st.tuples(st.just("resize"), st.just(""), resizes)
    return st.lists(st.one_of(BOOK, RELEASE, resize), max_size=60)


@given(histories(st.builds(Delta, amount=st.integers(-3, 5))), st.integers(0, 10))
def test_a_quantity_is_never_over_booked_and_nothing_gets_lost(history: list[Any], quantity: int) -> None:
    manager, held = QuantityManager(quantity), dict[str, int]()
    for verb, holder, detail in history:
        if verb == "book":
            free = quantity - sum(held.values())
            answer = manager.book(holder, detail, 0).answer
            if detail.amount and holder not in held:
                assert (answer is Answer.BOOKED) == (detail.amount <= free)
                assert answer is not Answer.SHORT or free > 0
                assert answer is not Answer.EXHAUSTED or free <= 0
                if answer is Answer.BOOKED:
                    held[holder] = detail.amount
        elif verb == "release":
            manager.release(holder)
            held.pop(holder, None)
        elif quantity + detail.amount >= 0:
            manager.resize(detail, 0)
            quantity += detail.amount
        state = manager.state()
        assert state["holders"] == held
        assert sum(held.values()) + state["free"] == max(quantity, sum(held.values()))


@given(histories(st.builds(Delta, add=ITEMS, remove=ITEMS)))
def test_no_item_has_two_users_and_none_appears_or_vanishes_in_use(history: list[Any]) -> None:
    manager, held, wanted = DiscreteManager(["i1", "i2", "i3"]), dict[str, set[str]](), {"i1", "i2", "i3"}
    for verb, holder, detail in history:
        if verb == "book":
            booking = manager.book(holder, detail, 0)
            if detail.amount and holder not in held and booking.answer is Answer.BOOKED:
                assert len(set(booking.items)) == detail.amount
                assert set(booking.items) <= wanted
                assert set(booking.items).isdisjoint(set().union(*held.values()))
                held[holder] = set(booking.items)
            elif detail.amount and holder in held:
                assert set(booking.items) == held[holder]
        elif verb == "release":
            manager.release(holder)
            held.pop(holder, None)
        else:
            manager.resize(detail, 0)
            wanted = wanted - set(detail.remove) | set(detail.add)
        in_use = {item: holder for holder, items in held.items() for item in items}
        items = manager.state()["items"]
        assert {item: owner for item, owner in items.items() if owner} == in_use
        assert set(items) == wanted | set(in_use)


@given(histories(st.just(Delta())))
def test_there_is_never_more_than_one_highlander_under_a_key(history: list[Any]) -> None:
    manager, running = HighlanderManager(), dict[str, str]()
    for verb, holder, detail in history:
        if verb == "book":
            booked = manager.book(holder, detail, 0).answer is Answer.BOOKED
            if detail.amount:
                assert booked == (detail.amount == 1 and running.get(detail.key, holder) == holder)
                if booked:
                    running[detail.key] = holder
        elif verb == "release":
            manager.release(holder)
            running = {key: one for key, one in running.items() if one != holder}
        assert manager.state()["running"] == running


@given(histories(st.builds(Delta, amount=st.integers(0, 2))), st.integers(0, 5))
def test_no_key_has_more_than_its_limit(history: list[Any], limit: int) -> None:
    manager = ConcurrencyManager(limit)
    for verb, holder, detail in history:
        if verb == "book":
            manager.book(holder, detail, 0)
        elif verb == "release":
            manager.release(holder)
        else:
            manager.resize(detail, 0)
            limit += detail.amount
        assert all(0 < sum(held.values()) <= limit for held in manager.state()["holders"].values())


@given(
    gain=st.integers(1, 5_000_000),
    burst=st.integers(1, 20),
    steps=st.lists(st.tuples(st.integers(-100, 3_000), st.integers(0, 25)), max_size=60),
)
def test_a_rate_never_gives_more_than_its_burst_and_what_time_brings(
    gain: int, burst: int, steps: list[tuple[int, int]]
) -> None:
    manager, now, latest, starts = RateManager(gain, burst), 10_000, 10_000, list[tuple[int, int]]()
    for number, (passed, amount) in enumerate(steps):
        now += passed
        booking = manager.book(f"h{number}", Request(amount), now)
        if booking.answer is not Answer.BOOKED:
            if booking.retry_at_ms is None:
                assert amount > burst
            else:
                assert manager.look("later", Request(amount), booking.retry_at_ms).answer is Answer.BOOKED
                assert manager.look("sooner", Request(amount), booking.retry_at_ms - 1).answer is not Answer.BOOKED
            continue
        latest = max(latest, now)
        starts.append((latest, amount))
        # Within any stretch of time, not only since the beginning.
        for first in range(len(starts)):
            given_out = sum(amount for _, amount in starts[first:])
            assert given_out * TOKEN <= burst * TOKEN + (latest - starts[first][0]) * gain


def many_managers() -> dict[str, Manager]:
    return {
        "units": QuantityManager(4),
        "items": DiscreteManager(["i1", "i2"]),
        "only": HighlanderManager(),
        "rate": RateManager(1_000_000, 3),
        "each": ConcurrencyManager(2),
    }


def states(managers: Iterable[Manager]) -> list[Any]:
    return [manager.state() for manager in managers]


NEEDS = st.dictionaries(
    st.sampled_from(["units", "items", "only", "rate", "each"]), st.builds(Request, st.integers(0, 3), KEYS)
)


@given(st.lists(st.one_of(st.tuples(HOLDERS, NEEDS), st.tuples(HOLDERS, st.none())), max_size=40))
def test_across_managers_all_is_booked_or_nothing(history: list[Any]) -> None:
    managers = many_managers()
    for now, (holder, needs) in enumerate(history):
        if needs is None:
            for manager in managers.values():
                manager.release(holder)
            continue
        before = states(managers.values())
        asked = {name: managers[name].look(holder, request, now) for name, request in needs.items() if request.amount}
        bookings = book_all(managers, needs, holder, now)
        if any(each.answer is not Answer.BOOKED for each in asked.values()):
            assert bookings.answer is not Answer.BOOKED
            assert states(managers.values()) == before
            assert bookings.refused_by
        else:
            assert bookings.answer is Answer.BOOKED
            again = {name: managers[name].look(holder, needs[name], now) for name in asked}
            assert again == asked, "everything that was asked for is held now"

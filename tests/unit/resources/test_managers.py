"""One contract over all kinds, then what is special about each."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from marie_celery.resources import (
    Answer,
    Booking,
    ConcurrencyManager,
    Delta,
    DiscreteManager,
    HighlanderManager,
    Manager,
    QuantityManager,
    RateManager,
    Request,
    item_variables,
)
from marie_celery.resources.rate import TOKEN, gain_of

NOW = 1_000_000
ONE, NOTHING_AT_ALL = Request(1), Request(0)

# Each with room for exactly one.
SMALLEST: dict[str, Callable[[], Manager]] = {
    "quantity": lambda: QuantityManager(1),
    "discrete": lambda: DiscreteManager(["a"]),
    "highlander": HighlanderManager,
    "rate": lambda: RateManager(gain_of(1), 1),
    "concurrency": lambda: ConcurrencyManager(1),
}


@pytest.fixture(params=SMALLEST)
def manager(request: pytest.FixtureRequest) -> Manager:
    return SMALLEST[request.param]()


class TestEveryManager:
    def test_gives_what_it_has_and_then_is_exhausted(self, manager: Manager) -> None:
        assert manager.book("h1", ONE, NOW).answer is Answer.BOOKED
        assert manager.book("h2", ONE, NOW).answer is Answer.EXHAUSTED

    def test_looking_changes_nothing(self, manager: Manager) -> None:
        before = manager.state()
        assert manager.look("h1", ONE, NOW).answer is Answer.BOOKED
        assert manager.state() == before

    def test_booking_again_gives_what_the_holder_has_and_takes_nothing_more(self, manager: Manager) -> None:
        first = manager.book("h1", ONE, NOW)
        after = manager.state()
        assert manager.book("h1", ONE, NOW) == first
        assert manager.state() == after

    def test_a_request_for_nothing_is_always_met_and_touches_nothing(self, manager: Manager) -> None:
        manager.book("h1", ONE, NOW)
        before = manager.state()
        assert manager.book("h2", NOTHING_AT_ALL, NOW) == Booking(Answer.BOOKED)
        assert manager.can_ever(NOTHING_AT_ALL)
        assert manager.state() == before

    def test_releasing_nothing_changes_nothing(self, manager: Manager) -> None:
        manager.book("h1", ONE, NOW)
        before = manager.state()
        manager.release("somebody")
        assert manager.state() == before

    def test_more_than_there_is_can_never_be_given(self, manager: Manager) -> None:
        assert manager.can_ever(ONE)
        assert not manager.can_ever(Request(2))
        assert manager.book("h1", Request(2), NOW).answer is not Answer.BOOKED

    def test_an_empty_change_is_no_change(self, manager: Manager) -> None:
        assert manager.book("h1", ONE, NOW).answer is Answer.BOOKED
        before = manager.state()
        manager.resize(Delta(), NOW)
        assert manager.state() == before


@pytest.mark.parametrize("kind", sorted(set(SMALLEST) - {"rate"}))
def test_what_is_released_can_be_booked_again(kind: str) -> None:
    manager = SMALLEST[kind]()
    manager.book("h1", ONE, NOW)
    manager.release("h1")
    assert manager.book("h2", ONE, NOW).answer is Answer.BOOKED


@pytest.mark.parametrize(
    ("kind", "delta"),
    [
        ("quantity", Delta(add=("a",))),
        ("discrete", Delta(amount=1)),
        ("highlander", Delta(amount=1)),
        ("rate", Delta(remove=("a",))),
        ("concurrency", Delta(rate=1)),
    ],
)
def test_a_change_that_means_nothing_to_a_manager_is_refused(kind: str, delta: Delta) -> None:
    with pytest.raises(ValueError, match=f"a {kind} resource has no"):
        SMALLEST[kind]().resize(delta, NOW)


@pytest.mark.parametrize("kind", ["quantity", "rate", "concurrency"])
def test_nothing_shrinks_below_nothing(kind: str) -> None:
    with pytest.raises(ValueError, match="cannot shrink"):
        SMALLEST[kind]().resize(Delta(amount=-2), NOW)


def test_nobody_can_take_less_than_nothing() -> None:
    with pytest.raises(ValueError, match="cannot take -1"):
        Request(-1)


class TestQuantity:
    def test_has_ten_units_unless_told_otherwise(self) -> None:
        assert QuantityManager().can_ever(Request(10))
        assert not QuantityManager().can_ever(Request(11))

    def test_is_short_while_some_is_left_and_exhausted_after_that(self) -> None:
        manager = QuantityManager(3)
        manager.book("h1", Request(2), NOW)
        assert manager.book("h2", Request(2), NOW).answer is Answer.SHORT
        manager.book("h3", ONE, NOW)
        assert manager.book("h2", Request(2), NOW).answer is Answer.EXHAUSTED

    def test_shrinking_leaves_what_is_booked_and_growing_is_a_difference(self) -> None:
        manager = QuantityManager(4)
        manager.book("h1", Request(4), NOW)
        manager.resize(Delta(amount=-3), NOW)
        assert manager.state() == {"kind": "quantity", "quantity": 1, "free": 0, "holders": {"h1": 4}}
        assert not manager.can_ever(Request(2))
        manager.resize(Delta(amount=1), NOW)
        assert manager.book("h2", ONE, NOW).answer is Answer.EXHAUSTED
        manager.release("h1")
        assert manager.book("h2", Request(2), NOW).answer is Answer.BOOKED


class TestDiscrete:
    def test_has_ten_items_unless_told_otherwise(self) -> None:
        items = DiscreteManager().book("h1", Request(10), NOW).items
        assert (items[0], items[-1], len(items)) == ("item01", "item10", 10)

    def test_gives_items_by_name_in_their_order(self) -> None:
        manager = DiscreteManager(["b", "a", "c"])
        assert manager.book("h1", Request(2), NOW).items == ("b", "a")
        assert manager.book("h2", Request(2), NOW) == Booking(Answer.SHORT)
        assert manager.book("h3", ONE, NOW).items == ("c",)

    def test_a_removed_item_that_is_booked_leaves_when_it_is_released(self) -> None:
        manager = DiscreteManager(["a", "b"])
        manager.book("h1", ONE, NOW)
        manager.resize(Delta(remove=("a",)), NOW)
        assert manager.state() == {"kind": "discrete", "items": {"a": "h1", "b": None}, "leaving": ["a"]}
        assert not manager.can_ever(Request(2))
        manager.release("h1")
        assert manager.state() == {"kind": "discrete", "items": {"b": None}, "leaving": []}

    def test_a_removed_item_that_is_free_leaves_at_once(self) -> None:
        manager = DiscreteManager(["a", "b"])
        manager.resize(Delta(remove=("b", "unknown")), NOW)
        assert manager.state()["items"] == {"a": None}

    def test_an_item_that_is_added_again_while_it_is_booked_is_not_booked_twice(self) -> None:
        manager = DiscreteManager(["a"])
        manager.book("h1", ONE, NOW)
        manager.resize(Delta(remove=("a",)), NOW)
        manager.resize(Delta(add=("a",)), NOW)
        assert manager.book("h2", ONE, NOW).answer is Answer.EXHAUSTED
        manager.release("h1")
        assert manager.book("h2", ONE, NOW).items == ("a",)

    def test_a_job_reads_its_items_from_the_environment(self) -> None:
        assert item_variables({"gpu": ("0", "3")}) == {
            "MARIE_RM_DISCRETE_GPU_ITEMS": "0,3",
            "JQM_RM_DISCRETE_GPU_ITEMS": "0,3",
        }


class TestHighlander:
    def test_one_runs_and_one_waits_and_a_third_hears_who_waits(self) -> None:
        manager = HighlanderManager()
        manager.book("h1", ONE, NOW)
        assert manager.enqueue("h2") == "h2"
        assert manager.enqueue("h3") == "h2"
        assert manager.book("h2", ONE, NOW).answer is Answer.EXHAUSTED

    def test_who_waits_runs_next_and_another_may_wait(self) -> None:
        manager = HighlanderManager()
        manager.book("h1", ONE, NOW)
        manager.enqueue("h2")
        manager.release("h1")
        assert manager.book("h2", ONE, NOW).answer is Answer.BOOKED
        assert manager.enqueue("h3") == "h3"
        assert manager.state() == {"kind": "highlander", "running": {"": "h2"}, "waiting": {"": "h3"}}

    def test_one_that_gave_up_waiting_makes_room(self) -> None:
        manager = HighlanderManager()
        manager.enqueue("h1")
        manager.release("h1")
        assert manager.enqueue("h2") == "h2"

    def test_there_is_one_of_each_key(self) -> None:
        manager = HighlanderManager()
        assert manager.book("h1", Request(1, "a"), NOW).answer is Answer.BOOKED
        assert manager.book("h2", Request(1, "b"), NOW).answer is Answer.BOOKED
        assert manager.book("h3", Request(1, "a"), NOW).answer is Answer.EXHAUSTED


class TestRate:
    def test_gives_its_burst_at_once_and_then_one_per_interval(self) -> None:
        manager = RateManager(gain_of(2), burst=3)
        assert [manager.book(f"h{n}", ONE, NOW).answer for n in range(4)] == [*[Answer.BOOKED] * 3, Answer.EXHAUSTED]
        assert manager.look("h4", ONE, NOW).retry_at_ms == NOW + 500
        assert manager.book("h4", ONE, NOW + 499).answer is Answer.EXHAUSTED
        assert manager.book("h4", ONE, NOW + 500).answer is Answer.BOOKED

    def test_says_when_enough_will_be_there(self) -> None:
        manager = RateManager(gain_of(0.3), burst=5)
        manager.book("h1", Request(4), NOW)
        short = manager.book("h2", Request(3), NOW)
        assert short == Booking(Answer.SHORT, retry_at_ms=NOW + 6_667)
        assert manager.look("h2", Request(3), NOW + 6_666).answer is Answer.SHORT
        assert manager.look("h2", Request(3), NOW + 6_667).answer is Answer.BOOKED

    def test_what_can_never_be_given_has_no_time_to_ask_again(self) -> None:
        assert RateManager(gain_of(1), burst=1).book("h1", Request(2), NOW) == Booking(Answer.SHORT)

    def test_a_token_is_spent_for_good(self) -> None:
        manager = RateManager(gain_of(1), burst=1)
        manager.book("h1", ONE, NOW)
        manager.release("h1")
        assert manager.book("h2", ONE, NOW).answer is Answer.EXHAUSTED

    def test_a_clock_that_goes_back_gives_nothing(self) -> None:
        manager = RateManager(gain_of(1), burst=1)
        manager.book("h1", ONE, NOW)
        assert manager.book("h2", ONE, NOW - 5_000) == Booking(Answer.EXHAUSTED, retry_at_ms=NOW + 1_000)
        assert manager.book("h2", ONE, NOW + 999).answer is Answer.EXHAUSTED

    def test_a_bucket_that_grows_is_not_filled_and_one_that_shrinks_spills(self) -> None:
        manager = RateManager(gain_of(1), burst=2)
        manager.resize(Delta(amount=2), NOW)
        assert manager.state()["tokens"] == 2
        assert manager.can_ever(Request(4))
        manager.resize(Delta(amount=-3), NOW + 5_000)
        assert (manager.state()["burst"], manager.state()["tokens"]) == (1, 1)

    def test_a_new_rate_counts_from_now_on(self) -> None:
        manager = RateManager(gain_of(1), burst=10)
        manager.book("h1", Request(10), NOW)
        manager.resize(Delta(rate=gain_of(2)), NOW + 1_000)
        assert manager.look("h2", Request(4), NOW + 1_000).retry_at_ms == NOW + 2_000

    @pytest.mark.parametrize("rate", [0.0001, 0.1, 1 / 3, 2.5, 1_000_000])
    def test_its_sums_are_integers_that_lua_can_hold(self, rate: float) -> None:
        assert gain_of(rate) > 0
        assert 1_000_000 * TOKEN + gain_of(rate) < 2**53


class TestConcurrency:
    def test_limits_each_key_by_itself(self) -> None:
        manager = ConcurrencyManager(2)
        assert manager.book("h1", Request(2, "a"), NOW).answer is Answer.BOOKED
        assert manager.book("h2", Request(1, "a"), NOW).answer is Answer.EXHAUSTED
        assert manager.book("h3", Request(1, "b"), NOW).answer is Answer.BOOKED
        assert manager.book("h4", Request(2, "b"), NOW).answer is Answer.SHORT

    def test_a_key_that_nobody_uses_is_forgotten(self) -> None:
        manager = ConcurrencyManager(1)
        manager.book("h1", Request(1, "a"), NOW)
        manager.release("h1")
        assert manager.state() == {"kind": "concurrency", "limit": 1, "holders": {}}

    def test_a_lower_limit_waits_for_those_who_are_there(self) -> None:
        manager = ConcurrencyManager(2)
        manager.book("h1", Request(2, "a"), NOW)
        manager.resize(Delta(amount=-1), NOW)
        assert manager.book("h2", Request(1, "a"), NOW).answer is Answer.EXHAUSTED
        assert not manager.can_ever(Request(2, "a"))

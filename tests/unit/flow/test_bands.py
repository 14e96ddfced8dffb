from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import pytest

from marie_celery.flow import Band, SchedulerConfig
from marie_celery.flow.bands import Shares, rank_of, weights_of
from tests.unit.flow.flow_kit import Spinner, drive, spin, virtual

BUSY = (True, True, True)
PATTERNS = [pattern for pattern in itertools.product((False, True), repeat=3) if any(pattern)]


def in_state(weights: tuple[int, ...], state: tuple[object, ...]) -> Shares:
    shares = Shares(weights)
    *balances, passed_over = state
    shares._balances = list(balances)  # type: ignore[arg-type]
    shares._first_was_passed_over = bool(passed_over)
    return shares


def state_of(shares: Shares) -> tuple[object, ...]:
    return (*shares._balances, shares._first_was_passed_over)


def all_states(weights: tuple[int, ...]) -> Iterator[tuple[object, ...]]:
    """Every state that any history of busy and idle bands can lead to."""
    seen = {(0, 0, 0, False)}
    unseen: list[tuple[object, ...]] = [(0, 0, 0, False)]
    while unseen:
        state = unseen.pop()
        yield state
        for pattern in PATTERNS:
            shares = in_state(weights, state)
            shares.choose(pattern)
            following = state_of(shares)
            if following not in seen:
                seen.add(following)  # type: ignore[arg-type]
                unseen.append(following)


@pytest.mark.parametrize(
    ("priority", "rank"), [(0, 2), (49, 2), (50, 1), (99, 1), (100, 0), (Band.NORMAL, 2), (Band.CONTROL, 0)]
)
def test_a_priority_belongs_to_the_highest_band_it_reaches(priority: int, rank: int) -> None:
    assert rank_of(priority) == rank


def test_the_order_of_turns_is_as_smooth_as_it_can_be() -> None:
    shares = Shares((4, 2, 1))
    assert [shares.choose(BUSY) for _ in range(14)] == [0, 1, 0, 2, 0, 1, 0] * 2


@pytest.mark.parametrize("ratio", [(4, 2, 1), (1, 1, 1), (8, 4, 1), (5, 2, 2), (3, 3, 3), (7, 5, 2)])
@pytest.mark.parametrize("busy", PATTERNS)
def test_bands_that_always_have_work_share_exactly_by_weight(
    ratio: tuple[int, int, int], busy: tuple[bool, ...]
) -> None:
    shares = Shares(ratio)
    rounds = 50
    turns = rounds * sum(weight for weight, has_work in zip(ratio, busy, strict=True) if has_work)
    counted = Counter(shares.choose(busy) for _ in range(turns))
    assert counted == {rank: rounds * ratio[rank] for rank in range(3) if busy[rank]}


def test_no_history_makes_control_wait_for_more_than_one_foreign_turn() -> None:
    weights = weights_of(SchedulerConfig().fairness_ratio)
    for state in all_states(weights):
        for first, second in itertools.product(PATTERNS, repeat=2):
            shares = in_state(weights, state)
            served = shares.choose((True, *first[1:])), shares.choose((True, *second[1:]))
            assert 0 in served, (state, first, second)


@pytest.mark.parametrize(("rank", "bound"), [(1, 7), (2, 12)], ids=["high", "normal"])
def test_no_history_starves_a_band(rank: int, bound: int) -> None:
    """Whatever the other bands do, from whatever state, the band is served within the bound."""
    patterns = [pattern for pattern in PATTERNS if pattern[rank]]
    frontier = set(all_states((4, 2, 1)))
    for _ in range(bound):
        following = set()
        for state, pattern in itertools.product(frontier, patterns):
            shares = in_state((4, 2, 1), state)
            if shares.choose(pattern) != rank:
                following.add(state_of(shares))
        frontier = following
    assert frontier == set()


def test_an_idle_band_saves_nothing_up() -> None:
    shares = Shares((4, 2, 1))
    for _ in range(1_000):
        shares.choose((False, True, True))
    assert Counter(shares.choose(BUSY) for _ in range(70)) == pytest.approx({0: 40, 1: 20, 2: 10}, abs=2)


def test_nodes_of_a_band_take_turns_in_a_fixed_order() -> None:
    order: list[str] = []
    spinners = [Spinner(name, order.append) for name in "abc"]
    scheduler = virtual(*spinners, max_batch_per_node=1)
    for spinner in spinners:
        spin(scheduler, spinner.name)
    scheduler.start()
    drive(scheduler, turns=9)
    assert order == list("abc") * 3


def test_the_ratio_holds_for_bands_with_different_numbers_of_nodes() -> None:
    spinners = {
        100: [Spinner("c")],
        50: [Spinner(f"h{n}") for n in range(3)],
        0: [Spinner(f"n{n}") for n in range(5)],
    }
    scheduler = virtual(*itertools.chain(*spinners.values()), max_batch_per_node=2)
    for priority, group in spinners.items():
        for spinner in group:
            spin(scheduler, spinner.name, priority)
    scheduler.start()
    drive(scheduler, turns=2_100)
    assert scheduler.stats().turns == {Band.CONTROL: 1200, Band.HIGH: 600, Band.NORMAL: 300}
    assert {scheduler.stats().nodes[spinner.name].turns for spinner in spinners[0]} == {60}


def test_a_configured_ratio_is_the_one_that_holds() -> None:
    scheduler = virtual(
        Spinner("high"), Spinner("normal"), fairness_ratio={"control": 9, "high": 3, "normal": 2}
    )
    spin(scheduler, "high", 50)
    spin(scheduler, "normal", 0)
    scheduler.start()
    drive(scheduler, turns=500)
    assert scheduler.stats().turns == {Band.CONTROL: 0, Band.HIGH: 300, Band.NORMAL: 200}

"""Which jobs of an ended run run again, and what each waits for then."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marie_celery.model.states import TERMINAL, WorkState
from marie_celery.store.replaying import Node, descendants, instructions, unfinished

COMPLETED = WorkState.COMPLETED
FAILED = WorkState.FAILED
SKIPPED = WorkState.SKIPPED


def node(state: WorkState = COMPLETED, *children: int, reason: str = "") -> Node:
    return Node(state, reason, children)


#   0 → 1 → 3
#   0 → 2 → 3
DIAMOND = {
    0: node(COMPLETED, 1, 2),
    1: node(FAILED, 3),
    2: node(SKIPPED, 3),
    3: node(SKIPPED, reason="upstream_failed"),
}


def test_all_that_depends_on_a_job_goes_with_it() -> None:
    assert descendants(DIAMOND, [1]) == {1, 3}
    assert descendants(DIAMOND, [0]) == {0, 1, 2, 3}
    assert descendants(DIAMOND, []) == set()


def test_a_fan_of_paths_is_walked_once() -> None:
    layers = {number: node(COMPLETED, *range(number + 1, min(number + 4, 60))) for number in range(60)}
    assert descendants(layers, [0]) == set(range(60))


@pytest.mark.parametrize(
    ("state", "reason", "is_left"),
    [
        (WorkState.COMPLETED, "", False),
        (WorkState.SKIPPED, "", False),
        (WorkState.SKIPPED, "all_parents_skipped", False),
        (WorkState.SKIPPED, "upstream_failed", True),
        (WorkState.FAILED, "poison", True),
        (WorkState.CANCELLED, "", True),
        (WorkState.EXPIRED, "hard_sla", True),
    ],
)
def test_a_resumed_run_does_what_did_not_end_well(state: WorkState, reason: str, is_left: bool) -> None:
    assert unfinished({0: node(state, reason=reason)}) == ({0} if is_left else set())


def test_a_job_waits_for_those_of_its_parents_that_run_again() -> None:
    assert instructions(DIAMOND, {1, 3}) == ["3 1 1 0", "1 0 0 0"]
    # What stands behind a job is reset before it.
    assert instructions(DIAMOND, {0, 1, 2, 3}) == ["3 2 0 0", "1 1 0 0", "2 1 0 0", "0 0 0 0"]


def test_a_job_alone_waits_for_nobody_and_knows_how_its_parents_ended() -> None:
    assert instructions(DIAMOND, {3}) == ["3 0 1 1"]
    assert instructions(DIAMOND, {1}) == ["1 0 0 0"]


graphs = st.integers(1, 8).flatmap(
    lambda size: st.tuples(
        st.tuples(*(st.integers(0, 2 ** (size - number - 1) - 1) for number in range(size))),
        st.lists(st.sampled_from(sorted(TERMINAL)), min_size=size, max_size=size),
        st.sets(st.integers(0, size - 1), min_size=1),
    )
)


@given(graphs)
def test_nobody_is_let_go_before_all_that_waits_has_been_reset(
    drawn: tuple[tuple[int, ...], list[WorkState], set[int]],
) -> None:
    bits, states, chosen = drawn
    nodes = {
        number: node(state, *(number + 1 + bit for bit in range(8) if bits[number] >> bit & 1))
        for number, state in enumerate(states)
    }
    orders = [tuple(map(int, order.split())) for order in instructions(nodes, chosen)]
    assert {number for number, *_ in orders} == chosen
    let_go = [waiting == 0 for _, waiting, _, _ in orders]
    assert any(let_go), "a graph without a cycle has a beginning"
    assert let_go == sorted(let_go)
    for number, waiting, skipped, failed in orders:
        parents = [other for other, each in nodes.items() if number in each.children]
        assert waiting == len(chosen.intersection(parents))
        left_out = [nodes[parent] for parent in parents if parent not in chosen]
        assert failed == sum(parent.failed for parent in left_out)
        assert skipped == sum(parent.state is SKIPPED and not parent.failed for parent in left_out)

import pytest

from marie_celery.errors import IllegalTransition
from marie_celery.model.states import (
    TERMINAL,
    TRANSITIONS,
    RunState,
    WorkState,
    check_transition,
    run_outcome,
)


def test_every_state_has_its_row():
    assert set(TRANSITIONS) == set(WorkState)


@pytest.mark.parametrize("state", WorkState)
def test_exactly_the_terminal_states_lead_nowhere(state):
    assert (not TRANSITIONS[state]) == state.terminal == (state in TERMINAL)


@pytest.mark.parametrize("state", [state for state in WorkState if not state.terminal])
def test_whatever_has_not_ended_can_be_cancelled_and_can_expire(state):
    assert {WorkState.CANCELLED, WorkState.EXPIRED} <= TRANSITIONS[state]


def test_every_state_can_be_reached_from_created():
    reached, left = {WorkState.CREATED}, [WorkState.CREATED]
    while left:
        new = TRANSITIONS[left.pop()] - reached
        reached |= new
        left.extend(new)
    assert reached == set(WorkState)


@pytest.mark.parametrize("source", WorkState)
@pytest.mark.parametrize("target", WorkState)
def test_a_change_is_allowed_exactly_if_the_table_has_it(source, target):
    if target in TRANSITIONS[source]:
        check_transition(source, target)
    else:
        with pytest.raises(IllegalTransition) as refused:
            check_transition(source, target)
        assert (refused.value.source, refused.value.target) == (source, target)


def test_completed_and_skipped_are_the_successful_ends():
    assert {state for state in WorkState if state.successful} == {WorkState.COMPLETED, WorkState.SKIPPED}


def test_a_run_is_over_unless_created_active_or_paused():
    going = {state for state in RunState if not state.terminal}
    assert going == {RunState.CREATED, RunState.ACTIVE, RunState.PAUSED}


@pytest.mark.parametrize(
    ("ends", "outcome"),
    [
        ([], RunState.COMPLETED),
        ([WorkState.COMPLETED, WorkState.SKIPPED], RunState.COMPLETED),
        ([WorkState.COMPLETED, WorkState.CANCELLED], RunState.CANCELLED),
        ([WorkState.CANCELLED, WorkState.EXPIRED], RunState.EXPIRED),
        ([WorkState.CANCELLED, WorkState.EXPIRED, WorkState.FAILED], RunState.FAILED),
    ],
)
def test_the_worst_end_of_a_job_is_the_end_of_the_run(ends, outcome):
    assert run_outcome(dict.fromkeys(ends, 1), cancelled=False) is outcome


def test_an_order_to_cancel_outweighs_every_end():
    assert run_outcome({WorkState.FAILED: 3}, cancelled=True) is RunState.CANCELLED


def test_counts_of_zero_do_not_matter():
    assert run_outcome({WorkState.FAILED: 0}, cancelled=False) is RunState.COMPLETED

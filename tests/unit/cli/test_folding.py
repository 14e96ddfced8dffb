"""Which jobs of a large map are shown."""

from __future__ import annotations

from marie_celery.cli.folding import MOST_ALIKE, first_of_each
from marie_celery.model.states import WorkState
from marie_celery.store.records import JobView


def job(name: str, state: WorkState = WorkState.COMPLETED) -> JobView:
    return JobView("j", state, "t", name, "e", 0, 1, "", "", None)


def test_of_many_items_the_first_are_shown_and_the_others_counted() -> None:
    items = [job(f"read[{number}]") for number in range(100)]
    shown, left_out = first_of_each([job("read"), *items, job("label")])
    assert [each.name for each in shown] == ["read", *(f"read[{number}]" for number in range(MOST_ALIKE)), "label"]
    assert left_out == {("read[…]", WorkState.COMPLETED): 90}


def test_items_that_ended_otherwise_are_shown_too() -> None:
    items = [job(f"page[{number}]/read[0-4]") for number in range(50)]
    shown, left_out = first_of_each([*items, job("page[50]/read[0-4]", WorkState.FAILED)])
    assert shown[-1].state is WorkState.FAILED
    assert left_out == {("page[…]/read[…]", WorkState.COMPLETED): 40}


def test_jobs_that_are_no_items_are_all_shown() -> None:
    shown, left_out = first_of_each([job(f"read-{number}") for number in range(100)])
    assert len(shown) == 100
    assert not left_out

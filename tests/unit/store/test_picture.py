"""A run as a picture."""

from __future__ import annotations

from typing import Any

from marie_celery.model.states import RunState, WorkState
from marie_celery.store.keys import job_id
from marie_celery.store.picture import picture_of
from marie_celery.store.records import JobView, RunView

RUN = "0123456789abc"


def run() -> RunView:
    return RunView(RUN, RunState.ACTIVE, "invoice", 50, 4, {}, 0)


def job(number: int, name: str, state: str, **more: Any) -> JobView:
    return JobView(job_id(RUN, number), WorkState(state), f"app.{name}", name, "ocr", 0, 1, "", "", None, **more)


def test_shapes_tell_states_and_how_far_a_job_is() -> None:
    jobs = [
        job(0, "split", "completed", children="1"),
        job(1, "read", "active", progress=0.4, progress_note="page 4 of 10"),
    ]
    picture = picture_of(run(), jobs)
    assert picture.title == f"invoice {RUN}"
    assert [(shape.label, shape.note, shape.state) for shape in picture.shapes] == [
        ("split", "completed", "completed"),
        ("read", "40% page 4 of 10", "active"),
    ]
    assert picture.edges == [(0, 1)]


def test_the_items_of_a_map_stand_between_it_and_what_it_waited_for() -> None:
    jobs = [
        job(0, "split", "completed", children="1"),
        job(1, "read", "active", control="map", children="2"),
        job(2, "label", "created"),
        job(3, "read[0]", "completed", children="1"),
        job(4, "read[1]", "active", children="1"),
    ]
    assert sorted(picture_of(run(), jobs).edges) == [(0, 1), (0, 3), (0, 4), (1, 2), (3, 1), (4, 1)]

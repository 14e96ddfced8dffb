"""A run as a picture, with the states of its jobs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from marie_celery.drawing import Picture, Shape
from marie_celery.model.control import Control
from marie_celery.model.ranges import unpack
from marie_celery.model.states import WorkState
from marie_celery.store.keys import number_of
from marie_celery.store.records import JobView, RunView


def picture_of(run: RunView, jobs: Iterable[JobView]) -> Picture:
    found = list(jobs)
    places = {number_of(job.job_id): place for place, job in enumerate(found)}
    edges = [
        (place, places[child])
        for place, job in enumerate(found)
        for child in unpack(job.children)
        if child in places
    ]
    for place, job in enumerate(found):
        if job.control == Control.MAP:
            edges += _items(place, found, edges)
    return Picture(f"{run.dag} {run.run_id}", [_shape(job) for job in found], edges)


def _items(place: int, jobs: Sequence[JobView], edges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The jobs of a map stand between it and what it waited for."""
    sources = [source for source, target in edges if target == place]
    items = [source for source in sources if jobs[source].name.startswith(f"{jobs[place].name}[")]
    return [(parent, item) for parent in sources if parent not in items for item in items]


def _shape(job: JobView) -> Shape:
    told = job.state is WorkState.ACTIVE and job.progress is not None
    note = f"{job.progress:.0%} {job.progress_note}".rstrip() if told else job.state.value
    return Shape(job.name, note, job.state.value, kind=job.task.rpartition(".")[2])

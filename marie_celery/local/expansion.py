"""The jobs of a map, once its lists are known."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from marie_celery.authoring.instances import InnerGraph
from marie_celery.authoring.mapping import items_of, values_of
from marie_celery.errors import MapError
from marie_celery.local.events import Expanded, Grown
from marie_celery.local.jobs import Job


def expand(
    job: Job, first: int, result_text: Callable[[int], str | None], max_map_length: int, now_ms: int
) -> Expanded | Grown:
    """`first` is the number that the next job of the run gets. Raises MarieError if the lists are none."""

    def result_of(number: int) -> Any:
        text = result_text(number)
        return None if text is None else json.loads(text)

    try:
        if "graph" not in job.fields:
            return Expanded(job.number, items_of(job.inputs, result_of, job.batch, max_map_length))
        values = values_of(job.inputs, result_of, max_map_length)
    except (LookupError, TypeError) as error:
        raise MapError(f"what the map takes its items from is not there: {error!r}") from error
    inner = InnerGraph(job.fields["graph"])
    graphs = [
        inner.instance(first + place * len(inner), f"{job.name}[{place}]", value) for place, value in enumerate(values)
    ]
    return Grown(job.number, graphs, now_ms)

"""A run with ten thousand jobs of a map, in a terminal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from marie_celery.model.states import WorkState
from marie_celery.store.records import JobView

MOST_ALIKE = 10

_PLACE = re.compile(r"\[[\d-]+\]")


def first_of_each(jobs: Iterable[JobView]) -> tuple[list[JobView], Counter[tuple[str, WorkState]]]:
    """Of the items of a map in one state only the first few; how many more there are, by `read[…]` and state."""
    seen: Counter[tuple[str, WorkState]] = Counter()
    shown: list[JobView] = []
    for job in jobs:
        alike = (_PLACE.sub("[…]", job.name), job.state)
        seen[alike] += alike[0] != job.name
        if seen[alike] <= MOST_ALIKE:
            shown.append(job)
    return shown, Counter({alike: number - MOST_ALIKE for alike, number in seen.items() if number > MOST_ALIKE})

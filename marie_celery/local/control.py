"""What control jobs find out without a worker: which paths a branch takes, what they give, the list of a map.

Mirrors `store/lua/include/control.lua` and `map.lua`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from marie_celery.authoring.payload import dumps
from marie_celery.errors import BranchError, MapError
from marie_celery.local.jobs import Job
from marie_celery.model.branching import paths_taken
from marie_celery.model.control import Control

LONGEST_LIST = 268_435_456


def decide(job: Job, jobs: Sequence[Job]) -> list[str]:
    """The paths that a branch takes. Raises BranchError."""
    assert job.control is not None
    names = [name for name, _ in job.paths or ()]
    return paths_taken(job.control, _part(json.loads(job.fields["on"]), jobs), names)


def pick(job: Job, jobs: Sequence[Job]) -> str:
    """What the paths taken give, as JSON. Raises BranchError."""
    branch = jobs[int(job.fields["branch"])]
    given = {}
    for name, pieces in json.loads(job.fields["gives"]):
        if name in (branch.taken or ()):
            given[name] = _put_together(pieces, jobs)
    if branch.control is Control.CHOOSE:
        return "{" + ",".join(f"{dumps(name)}:{text}" for name, text in given.items()) + "}"
    return next(iter(given.values()), "null")


def gather(job: Job, jobs: Sequence[Job]) -> str:
    """What a mapped dag returns for its item. Raises MapError."""
    ((_, pieces),) = json.loads(job.fields["gives"])
    try:
        return _put_together(pieces, jobs)
    except BranchError as error:
        raise MapError(str(error)) from None


def item(job: Job) -> str:
    """What a mapped dag was made for: its inputs are the values."""
    return job.inputs.partition("\n")[0]


def join_items(job: Job, jobs: Sequence[Job]) -> str:
    """The results of a map's items as one list. Raises MapError."""
    assert job.items is not None
    texts = [_items_of(jobs[number]) for number in job.items.numbers]
    if sum(map(len, texts)) > LONGEST_LIST:
        raise MapError("the results of the items are more than 256 MiB together")
    return f"[{','.join(texts)}]"


def _put_together(pieces: Sequence[Any], jobs: Sequence[Job]) -> str:
    """Pieces are text as it stands, and the way to a result where one has to go."""
    return "".join(piece if isinstance(piece, str) else dumps(_part(piece, jobs)) for piece in pieces)


def _items_of(job: Job) -> str:
    """A batch is a list already; what has no result leaves its places empty."""
    if job.batch is None:
        return job.result or "null"
    return ",".join(["null"] * job.batch) if job.result is None else job.result[1:-1]


def _part(what: Sequence[Any], jobs: Sequence[Job]) -> Any:
    """what: the number of a job, then the way into its result. A part of nothing is nothing."""
    job = jobs[what[0]]
    value = json.loads(job.result or "null")
    if value is None:
        return None
    for part in what[1:]:
        try:
            if isinstance(part, str) != isinstance(value, dict):
                raise TypeError
            value = value[part]
        except (LookupError, TypeError):
            text = f"the result of '{job.name}' has no part {json.dumps(what[1:], separators=(',', ':'))}"
            raise BranchError(text) from None
    return value

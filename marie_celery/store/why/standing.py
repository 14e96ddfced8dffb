"""The place of a ready job in line, as the schedulers would choose from what waits at this moment.

Jobs of runs that have begun and those of new runs wait in two lines. Most planners take whichever of the two heads
ranks first. One that prefers active runs gives new ones a fixed share of the choices (`planning/share.py`); then the
place follows from the share and the credit, without playing the choices through.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from itertools import islice

from marie_celery.planning.share import FULL, interleave
from marie_celery.store.why.snapshot import ClusterFacts, ExecutorFacts, JobFacts, Waiting


def active_before_new(place: int, share: int, credit: int) -> int:
    """How many active ones would be chosen before the new one at this place (0 = first), if there are so many."""
    if share == 0:
        return sys.maxsize
    choices = -((credit - FULL * (place + 1)) // share)
    return max(0, choices - (place + 1))


def new_before_active(place: int, new: int, share: int, credit: int) -> int:
    """How many of the new ones are chosen before the active one at this place."""
    return bisect_right(range(new), place, key=lambda each: active_before_new(each, share, credit))


def ahead_of(job: JobFacts, executor: ExecutorFacts, cluster: ClusterFacts) -> int:
    """How many are chosen before this ready job, as things stand."""
    if not cluster.shares:
        return job.place + (0 if cluster.keeps_new_runs_out and job.line == "ready" else job.place_in_other)
    if job.line == "new":
        active = active_before_new(job.place, cluster.share, executor.credit)
        return job.place + min(executor.active_waiting, active)
    new = 0 if cluster.keeps_new_runs_out else executor.new_waiting
    return job.place + new_before_active(job.place, new, cluster.share, executor.credit)


def first_ahead(job: JobFacts, executor: ExecutorFacts, cluster: ClusterFacts, most: int) -> list[Waiting]:
    """The first ones in line, at most those ahead of the job."""
    new = [] if cluster.keeps_new_runs_out and job.line == "ready" else executor.first_new
    if cluster.shares:
        order = list(interleave(executor.first_active, new, cluster.share, executor.credit))
    else:
        order = sorted([*executor.first_active, *new], key=lambda each: (each.score, each.job_id))
    return list(islice(order, min(most, ahead_of(job, executor, cluster))))

"""Reasons that a run and all of its jobs share."""

from __future__ import annotations

from marie_celery.store.why.records import Because, Reason
from marie_celery.store.why.snapshot import Snapshot
from marie_celery.store.why.words import plural, span


def staged(snapshot: Snapshot) -> Reason | None:
    if snapshot.run.get("state") != "staging":
        return None
    jobs, until = int(snapshot.run.get("jobs", 0)), snapshot.cluster.staged_until_ms
    left = "its client is gone" if until is None else f"{span(until - snapshot.now_ms)} left for the next part"
    return Reason(
        Because.STAGED,
        f"the run is still being submitted: {plural(jobs, 'job')} so far, {left}",
        "the last part of the submission; without it the run is dropped",
        {"jobs": jobs, "until_ms": until},
    )


def cancelling(snapshot: Snapshot) -> Reason | None:
    if "cancel" not in snapshot.run or "ended_at" in snapshot.run:
        return None
    return Reason(
        Because.CANCELLING,
        f"the run is being cancelled ({snapshot.run['cancel']})",
        "a scheduler goes on with cancelling",
        {"reason": snapshot.run["cancel"]},
    )


def no_scheduler(snapshot: Snapshot) -> Reason | None:
    if snapshot.cluster.schedulers:
        return None
    return Reason(Because.NO_SCHEDULER, "no scheduler is at work", "start one: marie scheduler")

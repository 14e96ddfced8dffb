"""Reasons that come from the shape of a run: maps, branches, gates, jobs that come last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from marie_celery.store.keys import job_id
from marie_celery.store.why.records import Because, Reason
from marie_celery.store.why.words import plural, span

if TYPE_CHECKING:
    from marie_celery.store.why.case import Case


def shut(case: Case) -> Reason | None:
    """It hangs on a branch or on the gate of its run."""
    if "shut" not in case.job.fields:
        return None
    gate = job_id(case.snapshot.run_id, case.job.number("gate"))
    return Reason(
        Because.SHUT,
        f"job {gate} decides whether it runs, and has not",
        f"the end of {gate}: marie why {gate}",
        {"gate": gate},
    )


def comes_last(case: Case) -> Reason | None:
    role = case.job.fields.get("final")
    if role is None:
        return None
    when = "all others have ended" + (" and one of them failed" if role == "on_failure" else "")
    left = int(case.snapshot.run.get("left", 0))
    return Reason(
        Because.LAST, f"it runs when {when}: {plural(left, 'job')} left, with it", "their ends", {"left": left}
    )


def map_under_way(case: Case) -> Reason | None:
    """A map is active without a worker: while its items are made, and while they run."""
    if case.job.fields.get("control") != "map":
        return None
    items, made, left = (case.job.number(name) for name in ("items", "made", "items_left"))
    if "items" not in case.job.fields or made < items:
        since = span(case.snapshot.now_ms - case.job.number("at"))
        return Reason(
            Because.EXPANDING,
            f"its list is known for {since}, and {made} of its jobs are made so far",
            "a scheduler goes on making them",
            {"made": made},
        )
    return Reason(
        Because.ITEMS,
        f"{left} of its {plural(items, 'job')} have not ended",
        "their ends",
        {"items": items, "left": left, "failed": case.job.number("items_failed")},
    )


def asked_too_early(case: Case) -> Reason | None:
    """The last attempt said that it is too early."""
    if case.job.number("waits") == 0 or case.job.error:
        return None
    due, told = case.job.number("due"), case.job.fields.get("reason", "")
    when = f"in {span(due - case.snapshot.now_ms)}" if due > case.snapshot.now_ms else "now"
    return Reason(
        Because.EARLY,
        f"it was asked {plural(case.job.number('waits'), 'time')} and waits: {told}; it is asked again {when}",
        "what it waits for",
        {"due_ms": due, "reason": told, "waits": case.job.number("waits"), **case.attempt},
    )

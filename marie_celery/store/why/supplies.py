"""Reasons of a ready job that lie in what it shares with others: resources, highlanders, tenants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from marie_celery.store.keys import run_of
from marie_celery.store.why.case import Case
from marie_celery.store.why.records import Because, Reason
from marie_celery.store.why.snapshot import Shortage
from marie_celery.store.why.words import listed, span


def highlander(case: Case) -> Reason | None:
    name, rival = case.job.highlander, case.job.rival
    if not rival:
        return None
    return Reason(
        Because.HIGHLANDER,
        f"only one run of '{name}' may be under way, and {rival} is",
        f"the end of run {rival}",
        {"name": name, "run": rival},
    )


def short(case: Case) -> Iterator[Reason]:
    for shortage in case.job.shortages:
        text, next = _told(shortage, case)
        yield Reason(Because.SHORT, text, next, _facts(shortage))


def _told(shortage: Shortage, case: Case) -> tuple[str, str]:
    """What stands in the way, and what would change it."""
    amount, left, name, other = shortage.amount, shortage.left, shortage.resource, shortage.kept_for
    asks = f"it asks for {amount} of resource '{name}'" + (f" under '{shortage.key}'" if shortage.key else "")
    place = f"; it is number {shortage.place} of {shortage.waiting} in line" if shortage.place else ""
    if shortage.size is None:
        return f"{asks}, which nobody has declared", f"the setting 'resources' names '{name}' and a scheduler restarts"
    if shortage.kind == "own":
        return f"{asks}, whose manager has not granted it{place}", "a scheduler asks the manager again"
    if amount > shortage.size:
        text = f"{asks}, which has become too small: there are {shortage.size}"
        return text, f"{_more(shortage, amount - shortage.size)}, or cancel the job"
    if left < amount:
        text = f"{asks}, and {max(0, left)} of {shortage.size} are left{_held_by(shortage)}{place}"
        if shortage.enough_ms is None:
            return text, f"a holder gives it back; {_more(shortage, amount - left)}"
        return text, f"time: there will be enough in {span(shortage.enough_ms - case.snapshot.now_ms)}"
    if other is not None:
        why = "on_shortage is hold" if shortage.mode == "hold" else "it has been passed max_skips times"
        text = f"{asks}, and what is left ({left}) is kept for {other.name} of run {run_of(other.job_id)}: {why}{place}"
        return text, f"that {other.name} gets what it needs"
    return f"{asks}, and by now {left} are left{place}", "the next look of a scheduler at the line"


def _more(shortage: Shortage, missing: int) -> str:
    if shortage.kind == "highlander":
        return "there is never more than one"
    change = "--add …" if shortage.kind == "discrete" else f"--by +{missing}"
    return f"more of it: marie resize {shortage.resource} {change}"


def _held_by(shortage: Shortage) -> str:
    """Of a rate the tokens are spent, and nobody gives them back."""
    if shortage.kind == "rate" or not shortage.holders:
        return ""
    named = [f"{each.attempt} on {each.worker or 'its way'} ({each.amount})" for each in shortage.holders]
    return f", held by {listed(named, len(named))}"


def _facts(shortage: Shortage) -> dict[str, Any]:
    other = shortage.kept_for
    return {
        "resource": shortage.resource,
        "kind": shortage.kind,
        "key": shortage.key,
        "amount": shortage.amount,
        "left": shortage.left,
        "size": shortage.size,
        "fits": shortage.size is not None and shortage.amount <= shortage.size,
        "on_shortage": shortage.mode,
        "place": shortage.place or None,
        "waiting": shortage.waiting,
        "kept_for": None if other is None else {"job": other.job_id, "name": other.name},
        "enough_ms": shortage.enough_ms,
        "holders": [
            {"attempt": each.attempt, "amount": each.amount, "items": each.items, "worker": each.worker}
            for each in shortage.holders
        ],
    }


def tenant(case: Case) -> Reason | None:
    """Where several have jobs on offer."""
    executor, standing = case.executor, case.executor.standing
    if case.job.line not in ("ready", "new") or standing.tenants < 2:
        return None
    share = standing.weight / standing.weights
    who = f"its tenant '{executor.tenant}'" if executor.tenant else "whoever names no tenant"
    return Reason(
        Because.TENANT,
        f"{who} has {share:.0%} of the slot time of '{executor.name}' among {standing.tenants} with work, and is "
        f"number {standing.place} by what they have had",
        "the others have their turn" if standing.place > 1 else "the next choice is of its jobs",
        {
            "executor": executor.name,
            "tenant": executor.tenant or None,
            "weight": standing.weight / 1000,
            "share": share,
            "place": standing.place,
            "tenants": standing.tenants,
        },
    )

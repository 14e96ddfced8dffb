"""The reasons of a run: what its jobs wait for, group by group, told by the first of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from marie_celery.model.states import WorkState
from marie_celery.store.why.case import Case
from marie_celery.store.why.jobs import reasons_of
from marie_celery.store.why.records import Because, Reason
from marie_celery.store.why.shared import cancelling, no_scheduler, staged
from marie_celery.store.why.snapshot import Snapshot
from marie_celery.store.why.walking import Group
from marie_celery.store.why.words import ago, plural

_OF_THE_RUN = (Because.STAGED, Because.CANCELLING, Because.NO_SCHEDULER)


def reasons_of_run(snapshot: Snapshot, groups: Sequence[tuple[Group, Case]]) -> Iterator[Reason]:
    """A job that has moved on since the groups were made tells its new reasons."""
    for question in (staged, cancelling, _ended, no_scheduler):
        reason = question(snapshot)
        if reason is not None:
            yield reason
            if reason.code is Because.STAGED:
                return
            if reason.code is Because.ENDED:
                break
    has_ended = "ended_at" in snapshot.run
    for group, case in groups:
        if case.job.state.terminal is has_ended:
            own = [reason for reason in reasons_of(case) if reason.code not in _OF_THE_RUN]
            yield from (_of_group(group, case, reason) for reason in own[:1])


def _ended(snapshot: Snapshot) -> Reason | None:
    if "ended_at" not in snapshot.run:
        return None
    at_ms, state, reason = int(snapshot.run["ended_at"]), snapshot.run["state"], snapshot.run.get("cancel", "")
    counts = {each.value: int(snapshot.run[each]) for each in WorkState if int(snapshot.run.get(each) or 0)}
    told = ", ".join(f"{number} {each}" for each, number in counts.items())
    return Reason(
        Because.ENDED,
        f"it ended as {state} {ago(snapshot.now_ms, at_ms)}{f' ({reason})' if reason else ''}: {told}",
        "nothing: it has ended",
        {"state": state, "reason": reason, "at_ms": at_ms, "jobs": counts},
    )


def _of_group(group: Group, case: Case, reason: Reason) -> Reason:
    job = case.job
    about = {"jobs": group.jobs, "state": job.state, "executor": group.executor, "first": job.job_id}
    return Reason(
        reason.code,
        f"{plural(group.jobs, 'job')} {job.state} on '{group.executor}', first {job.name}: {reason.text}",
        reason.next,
        {**about, **reason.facts},
    )

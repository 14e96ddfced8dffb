"""The reasons of one job. Each question looks at its case and answers with a reason, or with none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from marie_celery.model.states import WorkState
from marie_celery.planning import KeyedPlanner
from marie_celery.store.keys import run_of
from marie_celery.store.why.case import Case
from marie_celery.store.why.graphs import asked_too_early, comes_last, map_under_way, shut
from marie_celery.store.why.records import Because, Reason
from marie_celery.store.why.shared import cancelling, no_scheduler, staged
from marie_celery.store.why.snapshot import MOST_SHOWN
from marie_celery.store.why.standing import ahead_of, first_ahead
from marie_celery.store.why.supplies import highlander, short, tenant
from marie_celery.store.why.words import ago, listed, plural, span

Answer = Reason | Iterable[Reason] | None

def reasons_of(case: Case) -> Iterator[Reason]:
    for question in (_staged, *_QUESTIONS[case.job.state]):
        for reason in _each(question(case)):
            yield reason
            if reason.code is Because.STAGED:
                return


def _each(answer: Answer) -> Iterable[Reason]:
    if answer is None:
        return ()
    return (answer,) if isinstance(answer, Reason) else answer


def _staged(case: Case) -> Reason | None:
    return staged(case.snapshot)


def _cancelling(case: Case) -> Reason | None:
    return cancelling(case.snapshot)


def _no_scheduler(case: Case) -> Reason | None:
    return no_scheduler(case.snapshot)


def _ended(case: Case) -> Reason | None:
    error = case.job.error if case.job.state == WorkState.FAILED else None
    told = f": {error['type']}: {error['message']}" if error else ""
    reason, at_ms = case.job.fields.get("reason", ""), case.job.number("at")
    return Reason(
        Because.ENDED,
        f"it {_ENDS[case.job.state]} {ago(case.snapshot.now_ms, at_ms)}{f' ({reason})' if reason else ''}{told}",
        "nothing: it has ended",
        {"state": case.job.state, "reason": reason, "error": error, "at_ms": at_ms, **case.attempt},
    )


def _running(case: Case) -> Reason | None:
    if "control" in case.job.fields:
        return None
    worker, since = case.job.fields.get("worker", ""), case.job.number("at")
    return Reason(
        Because.RUNNING,
        f"it runs on {worker} for {span(case.snapshot.now_ms - since)}, attempt {case.job.number('token')}",
        "its end, or the end of its lease should the worker die",
        {"since_ms": since, **case.attempt},
    )


def _sent(case: Case) -> Reason | None:
    executor = case.job.fields["executor"]
    return Reason(
        Because.SENT,
        f"it was sent to '{executor}' {ago(case.snapshot.now_ms, case.job.number('at'))} and no process has started it",
        f"a free process of '{executor}' takes the message; should none do so, the lease ends and it is sent again",
        {"executor": executor, "sent_ms": case.job.number("at"), **case.attempt},
    )


def _delayed(case: Case) -> Reason | None:
    if asked_too_early(case):
        return None
    due, kind = case.job.number("due"), case.job.fields.get("reason", "failure")
    when = f"in {span(due - case.snapshot.now_ms)}" if due > case.snapshot.now_ms else "now"
    told = f" ({case.job.error['type']}: {case.job.error['message']})" if case.job.error else ""
    return Reason(
        Because.DELAYED,
        f"attempt {case.job.number('token')} ended in a {kind}{told} and the next one is due {when}",
        "the end of its delay",
        {"due_ms": due, "kind": kind, "error": case.job.error, **case.attempt},
    )


def _held(case: Case) -> Reason | None:
    job, run = case.job, case.snapshot.run_id
    if "hold" in job.fields:
        return _hold("it", "job", job.job_id)
    if "paused" in case.snapshot.run:
        return _hold("its run", "run", run)
    if job.state is WorkState.HELD:
        return _hold(f"the task '{job.fields['task']}'", "task", job.fields["task"])
    return None


def _executor_held(case: Case) -> Reason | None:
    name = case.executor.name
    return _hold(f"the executor '{name}'", "executor", name) if case.executor.paused else None


def _hold(what: str, kind: str, id: str) -> Reason:
    return Reason(Because.HELD, f"an operator holds {what}", f"resume the {kind} {id}", {"kind": kind, "id": id})


def _parents(case: Case) -> Reason | None:
    left, total = case.job.number("deps"), case.job.number("parents")
    if left == 0:
        return None
    waiting = [{"job": each.job_id, "name": each.name, "state": each.state} for each in case.parents]
    rule = case.job.fields.get("rule", "all_success")
    named = listed([f"{each['name']} ({each['state']})" for each in waiting], left)
    return Reason(
        Because.PARENTS,
        f"it waits for {left} of {plural(total, 'parent')}{f': {named}' if waiting else ''}"
        + ("" if rule == "all_success" else f" (join rule {rule})"),
        f"the end of {waiting[0]['name']}" if waiting else "their ends reach it",
        {"left": left, "parents": total, "rule": rule, "waiting": waiting},
    )


def _unreleased(case: Case) -> Reason | None:
    pieces = case.snapshot.cluster.left_work
    if case.job.number("deps") > 0 or not pieces or "shut" in case.job.fields or "final" in case.job.fields:
        return None
    return Reason(
        Because.UNRELEASED,
        f"no parent holds it up, but it is still to be made ready: {plural(pieces, 'piece')} of work left over from "
        "calls that were too long",
        "a scheduler goes on with them",
        {"pieces": pieces},
    )


def _no_worker(case: Case) -> Reason | None:
    executor = case.executor
    if executor.workers:
        return None
    return Reason(
        Because.NO_WORKER,
        f"no live worker serves '{executor.name}'",
        f"start one: marie worker --executor {executor.name}",
        {"executor": executor.name},
    )


def _full(case: Case) -> Reason | None:
    executor = case.executor
    if executor.used < executor.capacity or not (executor.workers or executor.used):
        return None
    who = listed([f"{attempt} on {worker or 'its way'}" for attempt, worker in executor.holders.items()], executor.used)
    return Reason(
        Because.EXECUTOR_FULL,
        f"'{executor.name}' is full: {executor.used} of {plural(executor.capacity, 'slot')} in use"
        + (f", by {who}" if who else ""),
        "a holder ends, or more slots",
        {
            "executor": executor.name,
            "capacity": executor.capacity,
            "used": executor.used,
            "holders": dict(executor.holders),
            "workers": dict(executor.workers),
        },
    )


def _concurrency_limit(case: Case) -> Reason | None:
    used, limit = case.snapshot.cluster.used, case.snapshot.cluster.max_concurrency
    if not 0 < limit <= used:
        return None
    return Reason(
        Because.CONCURRENCY_LIMIT,
        f"max_concurrency is {limit}, and all executors together use {used}",
        "any job ends, or a higher max_concurrency",
        {"limit": limit, "used": used},
    )


def _dag_limit(case: Case) -> Reason | None:
    cluster = case.snapshot.cluster
    if case.snapshot.run.get("state") != "created" or not cluster.keeps_new_runs_out:
        return None
    return Reason(
        Because.DAG_LIMIT,
        f"its run has not begun: max_active_dags is {cluster.max_active_dags}, and {cluster.active_dags} are active",
        "an active run ends, or a higher max_active_dags",
        {"limit": cluster.max_active_dags, "active": cluster.active_dags},
    )


def _ranked_anew(case: Case) -> Reason | None:
    if not case.job.line.startswith("stale:"):
        return None
    aside = case.executor.aside
    return Reason(
        Because.RANKED_ANEW,
        f"the planner '{case.snapshot.cluster.planner}' has just come into force and {plural(aside, 'job')} wait for "
        "a new rank",
        "a scheduler goes on ranking",
        {"planner": case.snapshot.cluster.planner, "jobs": aside},
    )


def _in_line(case: Case) -> Reason | None:
    if case.job.line not in ("ready", "new"):
        return None
    executor, cluster = case.executor, case.snapshot.cluster
    ahead = ahead_of(case.job, executor, cluster)
    waiting = executor.active_waiting + executor.new_waiting + executor.aside
    first = first_ahead(case.job, executor, cluster, MOST_SHOWN)
    named = listed([f"{each.name} of run {run_of(each.job_id)}" for each in first], ahead)
    return Reason(
        Because.IN_LINE,
        f"it is number {ahead + 1} of {waiting} in line for '{executor.name}' by the planner '{cluster.planner}'"
        + (f", among those of tenant '{executor.tenant}'" if executor.tenant else "")
        + (f"; ahead: {named}" if named else ""),
        f"{plural(ahead, 'choice')} of the schedulers" if ahead else "the next choice of a scheduler",
        {
            "executor": executor.name,
            "place": ahead + 1,
            "waiting": waiting,
            "ahead": [{"job": each.job_id, "name": each.name} for each in first],
            "planner": cluster.planner,
            "rank": KeyedPlanner(cluster.rank_keys).explain(case.job.score),
            "run_has_begun": case.job.line == "ready",
        },
    )


_ENDS = {
    WorkState.COMPLETED: "completed",
    WorkState.SKIPPED: "was skipped",
    WorkState.FAILED: "failed",
    WorkState.CANCELLED: "was cancelled",
    WorkState.EXPIRED: "expired",
}

# What weighs most comes first: what somebody has to do, then what time will bring.
_QUESTIONS: dict[WorkState, tuple[Callable[[Case], Answer], ...]] = {
    WorkState.CREATED: (_cancelling, _held, shut, comes_last, _parents, _unreleased, _no_scheduler),
    WorkState.READY: (
        _cancelling,
        _held,
        _executor_held,
        _no_scheduler,
        _no_worker,
        highlander,
        short,
        _full,
        _concurrency_limit,
        _dag_limit,
        _ranked_anew,
        tenant,
        _in_line,
    ),
    WorkState.RETRY: (_cancelling, _held, asked_too_early, _delayed, _no_scheduler),
    WorkState.HELD: (_cancelling, _held),
    WorkState.DISPATCHED: (_cancelling, _no_worker, _sent),
    WorkState.ACTIVE: (_cancelling, map_under_way, _running),
    **dict.fromkeys(_ENDS, (_ended,)),
}

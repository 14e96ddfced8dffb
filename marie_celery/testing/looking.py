"""What became of the jobs of a run, local or on a cluster."""

from __future__ import annotations

from itertools import pairwise

from marie_celery.local.run import LocalRun
from marie_celery.run import Run
from marie_celery.store.keys import run_of


def states(run: Run) -> dict[str, str]:
    """Name → state of every job."""
    return {job.name: job.state.value for job in run.jobs()}


def reasons(run: Run) -> dict[str, str]:
    """Name → why it is in its state; empty where there is nothing to say."""
    return {job.name: job.reason for job in run.jobs()}


def attempts(run: Run) -> dict[str, int]:
    """Name → how often it was begun."""
    return {job.name: job.attempt for job in run.jobs()}


def order(run: Run) -> list[str]:
    """The jobs as they were begun; one that was tried again stands there again."""
    if isinstance(run, LocalRun):
        return run.order()
    store = run.marie.store
    names = {job.job_id: job.name for job in run.jobs()}
    events = (event for _, event in store.client.xrange(store.keys.events) if "job" in event)
    return [
        names[event["job"]]
        for event in events
        if run_of(event["job"]) == run.id and event["from"] == "dispatched" and event["to"] == "active"
    ]


def assert_states(run: Run, **expected: str) -> None:
    """Those of the jobs named: `assert_states(run, split="completed", read="skipped")`."""
    found = states(run)
    assert {name: found.get(name) for name in expected} == expected


def assert_order(run: Run, *names: str) -> None:
    """Each of them was begun, for the first time, before the next."""
    begun = order(run)
    missing = [name for name in names if name not in begun]
    assert not missing, f"never begun: {', '.join(missing)}; begun were {begun}"
    for earlier, later in pairwise(names):
        assert begun.index(earlier) < begun.index(later), f"{later} was begun before {earlier}: {begun}"

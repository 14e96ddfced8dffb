"""What is true after every step, whatever the step was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tests.stateful.graphs import EXECUTORS
from tests.stateful.picture import PLACES, Picture
from tests.stateful.reference import AT_WORK, ENDED, ModelRun, Reference

ALL_STATES = (*ENDED, *AT_WORK, "created", "ready", "retry", "held")


def check_structures(model: Reference, now: Picture) -> None:
    """Each job is in the one structure that fits its state, and in no other."""
    by_state: dict[str, set[str]] = {state: set() for state in ALL_STATES}
    for job in model.jobs:
        by_state[job.state].add(job.id)
        if job.state in {"ready", *AT_WORK}:
            assert not job.plot.control, f"{job.id} has nothing to run and is {job.state}"
    places = Counter(job for place in PLACES for job in now.sets[place])
    assert places == Counter(by_state["ready"]), f"ready: {by_state['ready']}, in a place: {places}"
    for place in PLACES:
        for id in now.sets[place]:
            assert model.job(id).plot.executor == place.rpartition(":")[2]
    assert now.sets["delayed"].keys() == by_state["retry"], "delayed"
    assert now.sets["held"].keys() == by_state["held"], "held"
    assert now.sets["rerank"].keys() <= by_state["ready"], "rerank"
    assert now.sets["dead"].keys() == by_state["failed"], "dead letters"


def check_slots(model: Reference, now: Picture, stopping: set[str]) -> set[str]:
    """Who works holds a slot, and nobody else but those that are being stopped. Returns these."""
    extra = set()
    for executor in EXECUTORS:
        working = {job.attempt for job in model.jobs if job.state in AT_WORK and job.plot.executor == executor}
        holders = now.holders(executor).keys()
        # Nobody starts it any more: its run is being cancelled.
        turned_away = {job.attempt for job in model.jobs if job.state == "dispatched" and job.run.cancelled}
        assert working - turned_away <= holders, f"at work without a slot: {working - holders}"
        extra |= holders - working
    assert extra <= stopping, f"they hold slots for nothing: {extra - stopping}"
    for job in model.jobs:
        if job.state == "active":
            assert job.attempt in now.workers.get(now.worker(job.id), ()), f"nobody is charged with {job.attempt}"
    return extra


def check_runs(model: Reference, now: Picture) -> None:
    open_runs, begun, ended, known = set(), set(), set(), set()
    for run in model.runs.values():
        if run.pruned:
            continue
        known.add(run.id)
        fields = now.runs[run.id]
        _check_run(run, fields)
        (ended if run.ended else open_runs).add(run.id)
        if "started_at" in fields and not run.ended:
            begun.add(run.id)
    assert now.sets["runs"].keys() == known, "runs"
    assert now.sets["active"].keys() == begun, "active"
    assert now.sets["ended"].keys() == ended, "ended"


def _check_run(run: ModelRun, fields: Mapping[str, str]) -> None:
    counts = Counter(job.state for job in run.jobs)
    found = {state: int(fields.get(state, 0)) for state in ALL_STATES}
    assert found == {state: counts[state] for state in ALL_STATES}, f"the counts of {run.id} are {fields}"
    left = sum(not job.ended for job in run.jobs) + len(run.runs_again)
    assert int(fields["left"]) == left, f"{fields['left']} jobs of {run.id} are left, not {left}"
    assert ("ended_at" in fields) == run.ended, f"{run.id} has ended: {run.ended}, says {fields}"
    assert int(fields["ends_told"]) == run.ended
    assert fields["state"] == _state_of(run, fields), f"{run.id} is {fields['state']}, not {_state_of(run, fields)}"


def _state_of(run: ModelRun, fields: Mapping[str, str]) -> str:
    if not run.ended:
        return "paused" if run.paused else "active" if "started_at" in fields else "created"
    if fields.get("cancel", "fail_fast") != "fail_fast":
        return "cancelled"
    states = {job.state for job in run.jobs}
    return next((state for state in ("failed", "expired", "cancelled") if state in states), "completed")


def check_nothing_is_forgotten(model: Reference, now: Picture) -> None:
    """When no work is left over, all that had to happen has happened."""
    for run in model.runs.values():
        assert not run.runs_again, f"{run.runs_again} do not run again"
        if run.pruned:
            assert run.gone and now.runs[run.id].keys() == {"ends_told"}, f"{run.id} is still there"
            continue
        for job in run.jobs:
            if run.cancelled:
                assert job.ended, f"{job.id} is {job.state} in a run that was cancelled"
            if run.expires and job.plot.hard_in is None:
                assert job.ended, f"{job.id} is {job.state} in a run that has expired"
            if job.state == "created":
                assert job.verdict() == "wait", f"{job.id} waits, its parents say {job.verdict()}"
            elif job.state in {"ready", "held"}:
                assert job.state == model.ready(job), f"{job.id} is {job.state}"
    aside = [place for place in PLACES if place.startswith("stale:") and now.sets[place]]
    assert not aside, f"{aside} were set aside and forgotten"


def check_the_wake_up(before: Picture, now: Picture) -> None:
    """Whatever gives the scheduler something to do wakes it."""
    new_work = len(now.pieces) > len(before.pieces)
    for executor in EXECUTORS:
        lines = [f"ready:{executor}", f"new:{executor}"]
        waiting = {job for line in lines for job in now.sets[line]}
        # What was set aside may come back alone; the piece of work that brings all back is still there.
        aside = [f"stale:{line}" for line in lines if now.pieces]
        waited = {job for line in [*lines, *aside] for job in before.sets[line]}
        room = now.room(executor)
        new_work |= room > 0 and bool(waiting - waited or (waiting and room > before.room(executor)))
    assert now.woken or not new_work, "nobody woke the scheduler"

"""The order of real starts is that of the planner, choice by choice.

A gate holds the only slot while a backlog of mixed runs is submitted. What then happens is read from the events and
played through: at each dispatch the pure planner, the share of new runs and the times of the events say which job was
the best at that moment.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from waiting import eventually

from marie_celery import Run, RunState
from marie_celery.cluster import Cluster
from marie_celery.planning import PLANNERS, ExecutionPlanner, FlatJob, planner
from marie_celery.planning.share import choose, share_in_thousandths
from marie_celery.scheduler.policy import BY_SETTINGS, policy_of
from marie_celery.store.keys import run_of
from marie_celery.store.store import Store
from marie_celery.store.why import Because

LINE = "line"
RUNS = 16


@pytest.fixture(scope="module")
def line(cluster: Cluster, dags: ModuleType) -> Iterator[Store]:
    """An executor with one slot."""
    cluster.start_worker(LINE, slots=1, options=["-l", "warning"])
    store: Store = dags.marie.store
    eventually(lambda: any(view.name == LINE and view.workers for view in store.capacity()))
    yield store
    put_in_force(store, store.settings.planner, BY_SETTINGS)
    process = cluster.processes.pop(f"worker-{LINE}")
    process.terminate()
    process.wait(timeout=30)


def put_in_force(store: Store, name: str, by: str = "test") -> int:
    """Returns the moment from which on all that waits has its new rank."""
    store.replan(policy_of(name, store.settings, by))
    while store.client.llen(store.keys.advance):
        pass  # a few milliseconds; a pause would blur the moment
    seconds, micros = store.client.time()
    return int(seconds * 1000 + micros // 1000)


def backlog(dags: ModuleType, dice: random.Random) -> list[Run]:
    """Runs of all kinds: wide and deep, urgent and not, short and long."""

    def options() -> dict[str, object]:
        given: dict[str, object] = {"estimated_runtime": dice.choice([0.05, 0.4, 3.0, 40.0])}
        if dice.random() < 0.3:
            given["priority"] = dice.choice(["background", "high", 70, 200])
        if dice.random() < 0.2:
            given["soft_sla"] = dice.choice(["20m", "50m", "3h"])
        return given

    runs = []
    for _ in range(RUNS):
        shape = [[options() for _ in range(dice.randint(1, 3))] for _ in range(dice.randint(1, 4))]
        sla = dice.choice([{}, {}, {"soft_sla": "10m", "hard_sla": "40m"}, {"hard_sla": "2h"}])
        runs.append(dags.chains.options(priority=dice.choice(["low", "normal", "high"]), **sla).submit(shape))
    return runs


@dataclass
class Reference:
    """Plays the events through and says what each choice should have been."""

    store: Store
    planner: ExecutionPlanner
    credit: int
    waiting: dict[str, FlatJob] = field(default_factory=dict)
    activated: dict[str, int] = field(default_factory=dict)
    settled_ms: int = 0
    """Until then a choice is made among those that have their new rank already, which the events do not tell."""
    swapped: bool = False
    choices: int = 0
    unchecked: int = 0

    def hear(self, event: dict[str, str], last_ms: int) -> None:
        at_ms, to = int(event["at"]), event["to"]
        if "planner" in event:
            self.planner = planner(to, self.store.settings.planning)
            self.swapped = True
        elif "run" in event and to == "active":
            self.activated[event["run"]] = at_ms
            for job in [each for each in self.waiting.values() if each.run_id == event["run"]]:
                self.waiting[job.job_id] = replace(job, run_activated_ms=at_ms)
        elif "job" in event and to == "ready":
            job = self._job(event["job"], at_ms)
            if job is not None:
                self.waiting[job.job_id] = job
        elif "job" in event and to == "dispatched" and event["job"] in self.waiting:
            self._check(event["job"], (last_ms, at_ms))

    def _check(self, chosen: str, between: tuple[int, int]) -> None:
        """The look at what waits was somewhere between the last event and this one."""
        self.choices += 1
        if self.swapped and between[0] <= self.settled_ms:
            self.unchecked += 1
            del self.waiting[chosen]
            return
        pool = list(self.waiting.values())
        if self.planner.prefers_active_dags:
            new, active = [job for job in pool if job.new_dag], [job for job in pool if not job.new_dag]
            share = share_in_thousandths(self.store.settings.new_dag_share)
            take_new, self.credit = choose(self.credit, share, active_waits=bool(active), new_waits=bool(new))
            pool = new if take_new else active
        expected = {min(pool, key=lambda job: (self.planner.rank(job, ms).score, job.job_id)).job_id for ms in between}
        assert chosen in expected, f"choice {self.choices} of {len(self.waiting)} that wait"
        del self.waiting[chosen]

    def _job(self, id: str, ready_ms: int) -> FlatJob | None:
        found: dict[str, str] = self.store.client.hgetall(self.store.keys.job(id))
        if found["executor"] != LINE:
            return None

        def number(name: str) -> int | None:
            return int(found[name]) if name in found else None

        run = run_of(id)
        return FlatJob(
            job_id=id,
            run_id=run,
            executor=LINE,
            level=int(found["level"]),
            priority=int(found["priority"]),
            soft_sla_ms=number("soft"),
            hard_sla_ms=number("hard"),
            submitted_ms=int(self.store.client.hget(self.store.keys.run(run), "created_at")),
            ready_ms=ready_ms,
            estimated_runtime=int(found["estimate"]) / 1000,
            remaining_path=int(found["path"]) / 1000,
            run_activated_ms=self.activated.get(run),
        )


class Gate:
    """Holds the only slot while it is closed."""

    def __init__(self, dags: ModuleType, marker: Path) -> None:
        self._marker = marker
        self.run: Run = dags.gate.submit(str(marker))
        eventually(marker.exists)

    def open(self) -> None:
        self._marker.unlink()


def last_event(store: Store) -> str:
    ((id, _),) = store.client.xrevrange(store.keys.events, count=1)
    return str(id)


def credit_of(store: Store) -> int:
    return int(store.client.hget(store.keys.executor(LINE), "credit") or 0)


def wait_for_starts(store: Store, since: str, number: int) -> None:
    """Blocks on the events, so that what follows happens in the middle of the work."""
    while number > 0:
        ((_, events),) = store.client.xread({store.keys.events: since}, block=30_000)
        since = events[-1][0]
        number -= sum(event["to"] == "active" and "job" in event for _, event in events)


def played_through(reference: Reference, since: str) -> list[dict[str, str]]:
    """Checks every choice after the given event. Returns the events."""
    last_ms, heard = 0, []
    for _, event in reference.store.client.xrange(reference.store.keys.events, min=f"({since}"):
        reference.hear(event, last_ms or int(event["at"]))
        last_ms = int(event["at"])
        heard.append(event)
    return heard


def started(events: list[dict[str, Any]], jobs: set[str]) -> list[str]:
    return [event["job"] for event in events if event.get("job") in jobs and event["to"] == "active"]


def dispatched(events: list[dict[str, Any]], jobs: set[str]) -> list[str]:
    return [event["job"] for event in events if event.get("job") in jobs and event["to"] == "dispatched"]


@pytest.mark.parametrize("name", PLANNERS)
def test_jobs_start_in_the_order_of_the_planner(line: Store, dags: ModuleType, tmp_path: Path, name: str) -> None:
    put_in_force(line, name)
    gate, since, credit = Gate(dags, tmp_path / "gate"), last_event(line), credit_of(line)
    runs = backlog(dags, random.Random(name))
    gate.open()
    assert {run.wait(timeout=60) for run in runs} == {RunState.COMPLETED}
    reference = Reference(line, planner(name, line.settings.planning), credit)
    events = played_through(reference, since)
    jobs = {job.job_id for run in runs for job in run.jobs()}
    assert reference.choices == len(jobs) > 2 * RUNS
    assert started(events, jobs) == dispatched(events, jobs)


@pytest.mark.parametrize(("before", "after"), [("global", "sjfs"), ("slack", "classic"), ("hrrn", "fifo")])
def test_a_swap_in_the_middle_holds_for_what_waits(
    line: Store, dags: ModuleType, tmp_path: Path, before: str, after: str
) -> None:
    put_in_force(line, before)
    gate, since, credit = Gate(dags, tmp_path / "gate"), last_event(line), credit_of(line)
    runs = [*backlog(dags, random.Random(before)), *backlog(dags, random.Random(after))]
    released = last_event(line)
    gate.open()
    wait_for_starts(line, released, 12)
    settled_ms = put_in_force(line, after)
    assert {run.wait(timeout=60) for run in runs} == {RunState.COMPLETED}
    reference = Reference(line, planner(before, line.settings.planning), credit, settled_ms=settled_ms)
    events = played_through(reference, since)
    jobs = {job.job_id for run in runs for job in run.jobs()}
    assert reference.choices == len(jobs) > 4 * RUNS
    assert reference.unchecked < 10
    (swap,) = [number for number, event in enumerate(events) if "planner" in event]
    assert len(dispatched(events[:swap], jobs)) >= 12
    assert len(dispatched(events[swap:], jobs)) >= 12


def test_why_tells_what_a_real_cluster_is_doing(line: Store, dags: ModuleType, tmp_path: Path) -> None:
    gate = Gate(dags, tmp_path / "gate")
    run = dags.chains.submit([[{}, {}]])
    (running,) = gate.run.why("run_until").reasons
    assert (running.code, running.facts["worker"].partition("@")[0]) == (Because.RUNNING, f"worker-{LINE}")
    full, in_line = run.why("step").reasons
    assert (full.code, in_line.code) == (Because.EXECUTOR_FULL, Because.IN_LINE)
    assert full.facts["holders"] == {running.facts["attempt"]: running.facts["worker"]}
    assert [reason.code for reason in run.why("step-2").reasons] == [Because.PARENTS]
    assert dags.marie.why(run.id).codes == [Because.EXECUTOR_FULL, Because.PARENTS]
    gate.open()
    run.wait(timeout=30)
    assert run.why("step").codes == [Because.ENDED]

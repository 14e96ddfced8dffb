"""The state machine: every rule is one act of the world, with what it is done to drawn by number."""

from __future__ import annotations

import sys
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from marie_celery.store.keys import split_attempt
from marie_celery.store.steering import Held
from marie_celery.store.store import Store
from tests.stateful.drain import drain
from tests.stateful.graphs import EXECUTORS, Shape, shapes
from tests.stateful.operators import Operators
from tests.stateful.reference import AT_WORK, ModelJob, ModelRun
from tests.stateful.world import WORKERS

MOST_RUNS = 5
PLANNERS = ("global", "classic", "hrrn", "sjfs", "slack")

number = st.integers(0, 1_000)
several = st.lists(number, min_size=1, max_size=4)
acts = st.sampled_from(["submit", *["dispatch", "fail", "beat"] * 2, *["start", "finish"] * 3, "wait"])
late_writes = st.sampled_from(["start", "finish", "skip", "fail"])
daily_work = st.lists(st.tuples(acts, number), min_size=2, max_size=8)


def has(attribute: str) -> Any:
    """The rule needs one of these to act upon."""
    return precondition(lambda machine: bool(getattr(machine, attribute)))


def working_day(name: str) -> Any:
    def work(self: Machine, tasks: list[tuple[str, int]]) -> None:
        for act, which in tasks:
            getattr(self, f"_{act}")(which)

    work.__name__ = f"{name}day"
    return rule(tasks=daily_work)(work)


class Machine(RuleBasedStateMachine):
    def __init__(self, stores: list[Store], tally: list[int]) -> None:
        super().__init__()
        self._stores = stores
        self._tally = tally

    @initialize(which=number, orders=st.lists(shapes(), min_size=2, max_size=4))
    def begin(self, which: int, orders: list[Shape]) -> None:
        self.world = Operators(self._stores[which % len(self._stores)])
        self._orders = orders
        self._beat(0)
        self._submit(0)
        self._submit(1)

    def teardown(self) -> None:
        if sys.exc_info()[0] is not None:
            return  # a rule has failed: nothing to see here any more
        drain(self.world)
        self._tally.append(self.world.steps)

    # What there is to act upon.

    @property
    def runs(self) -> list[ModelRun]:
        return list(self.world.model.runs.values())

    @property
    def open_runs(self) -> list[ModelRun]:
        return [run for run in self.runs if not run.ended]

    @property
    def ended_runs(self) -> list[ModelRun]:
        return [run for run in self.runs if run.ended]

    @property
    def jobs(self) -> list[ModelJob]:
        return [job for run in self.runs if not run.pruned for job in run.jobs]

    @property
    def hands(self) -> list[tuple[str, str]]:
        return [(attempt, name) for name, worker in self.world.workers.items() for attempt in worker.hands]

    @property
    def workers(self) -> list[str]:
        return list(self.world.workers)

    @property
    def mail(self) -> list[str]:
        return self.world.mail

    @property
    def history(self) -> list[str]:
        return self.world.history

    @property
    def pieces(self) -> bool:
        return bool(self.world.now.pieces)

    # The daily work. Hypothesis leaves out some of the rules in each example; not all of five.

    monday, tuesday, wednesday, thursday, friday = map(working_day, ("mon", "tues", "wednes", "thurs", "fri"))

    def _submit(self, which: int) -> None:
        if len(self.runs) < MOST_RUNS:
            self.world.submit(self._orders[which % len(self._orders)])

    def _dispatch(self, most: int) -> None:
        self.world.dispatch(self.world.plan()[: 1 + most % 6])

    def _start(self, which: int) -> None:
        if self.mail and self.workers:
            attempt = self.mail.pop(which % len(self.mail))
            self.world.start(attempt, self.workers[which % len(self.workers)])

    def _finish(self, which: int) -> None:
        if self.hands:
            self.world.finish(*self.hands[which % len(self.hands)], "completed" if which % 4 else "skipped")

    def _fail(self, which: int) -> None:
        if self.hands:
            kind = ("failure", "timeout", "crash")[which % 3]
            delay = (None, None, None, 0.0, 3.0)[which % 5]
            self.world.fail(*self.hands[which % len(self.hands)], kind, give_up=which % 7 == 0, delay=delay)

    def _beat(self, which: int) -> None:
        if not self.workers:
            self.world.hire(WORKERS[which % len(WORKERS)], dict.fromkeys(EXECUTORS, 2))
        for name, worker in self.world.workers.items():
            if not worker.silent:
                self.world.beat(name)

    def _wait(self, which: int) -> None:
        self.world.pass_time(which * 5)

    # Clients and schedulers.

    @has("jobs")
    @rule(which=several)
    def dispatch_anything(self, which: list[int]) -> None:
        self.world.dispatch([self.jobs[each % len(self.jobs)].id for each in which])

    @rule(ms=st.sampled_from([1, 500, 1_999, 2_000, 5_000, 9_000, 60_000, 310_000]))
    def time_passes(self, ms: int) -> None:
        self.world.pass_time(ms)

    @rule()
    def promote(self) -> None:
        self.world.promote()

    @rule()
    def rerank(self) -> None:
        self.world.rerank()

    @rule()
    def watch(self) -> None:
        self.world.watch()

    @rule()
    def reap(self) -> None:
        self.world.reap()

    @has("pieces")
    @rule()
    def advance(self) -> None:
        self.world.advance()

    # Workers.

    @rule(which=number, slots=st.tuples(st.integers(0, 3), st.integers(1, 3)))
    def hire(self, which: int, slots: tuple[int, int]) -> None:
        self.world.hire(WORKERS[which % len(WORKERS)], dict(zip(EXECUTORS, slots, strict=True)))

    @has("workers")
    @rule(which=number)
    def fall_silent(self, which: int) -> None:
        self.world.workers[self.workers[which % len(self.workers)]].silent = True

    @has("workers")
    @rule(which=number)
    def come_back(self, which: int) -> None:
        self.world.beat(self.workers[which % len(self.workers)])

    @has("workers")
    @rule(which=number)
    def leave(self, which: int) -> None:
        self.world.leave(self.workers[which % len(self.workers)])

    @has("hands")
    @rule(which=number)
    def lose_a_process(self, which: int) -> None:
        attempt, name = self.hands[which % len(self.hands)]
        self.world.workers[name].hands.remove(attempt)

    @has("mail")
    @rule(which=number)
    def lose_a_message(self, which: int) -> None:
        self.mail.pop(which % len(self.mail))

    @precondition(lambda machine: machine.mail and machine.workers)
    @rule(which=number)
    def deliver_twice(self, which: int) -> None:
        attempt = self.mail[which % len(self.mail)]
        for _ in range(2):
            self.world.start(attempt, self.workers[which % len(self.workers)])

    @has("hands")
    @rule(which=number, how=late_writes)
    def overtake(self, which: int, how: str) -> None:
        """A process is cut off, its job is given to another one, and then it reports after all."""
        attempt, name = self.hands[which % len(self.hands)]
        self.world.workers[name].hands.remove(attempt)
        self.world.pass_time(60_000)
        self._beat(which)
        self.world.reap()
        if self.world.find(attempt) is not None:
            self.world.dispatch([split_attempt(attempt)[0]])
        if self.mail:
            self._start(len(self.mail) - 1)
        self._write(attempt, name, how)

    @has("history")
    @rule(which=number, worker=st.sampled_from(WORKERS), how=late_writes)
    def write_late(self, which: int, worker: str, how: str) -> None:
        attempt = self.history[which % len(self.history)]
        self._write(attempt, self.world.runners.get(attempt, worker), how)

    def _write(self, attempt: str, worker: str, how: str) -> None:
        if self.world.is_current(attempt, AT_WORK):
            return
        if how == "start":
            self.world.start(attempt, worker)
        elif how == "fail":
            self.world.fail(attempt, worker, "failure", give_up=False, delay=None)
        else:
            self.world.finish(attempt, worker, "completed" if how == "finish" else "skipped")

    # Operators.

    @precondition(lambda machine: len(machine.runs) > 1)
    @rule(which=number)
    def cancel_run(self, which: int) -> None:
        self.world.cancel_run(self.runs[which % len(self.runs)])

    @has("jobs")
    @rule(which=number)
    def cancel_job(self, which: int) -> None:
        self.world.cancel_job(self.jobs[which % len(self.jobs)])

    @has("jobs")
    @rule(which=number, kind=st.sampled_from(["job", "run", "task", "executor"]), holds=st.booleans())
    def hold(self, which: int, kind: Held, holds: bool) -> None:
        job = self.jobs[which % len(self.jobs)]
        ids = {"job": job.id, "run": job.run.id, "task": job.plot.task, "executor": job.plot.executor}
        self.world.hold(kind, ids[kind], holds=holds)
        # A scheduler that has looked before and comes now.
        self.world.dispatch([job.id])

    @has("ended_runs")
    @rule(which=number, numbers=st.lists(number, max_size=2), with_descendants=st.booleans())
    def replay(self, which: int, numbers: list[int], with_descendants: bool) -> None:
        run = self.ended_runs[which % len(self.ended_runs)]
        chosen = {each % len(run.jobs) for each in numbers}
        self.world.replay(run, chosen, with_descendants=with_descendants)

    @has("open_runs")
    @rule(which=number, pieces=st.integers(0, 3))
    def change_the_mind(self, which: int, pieces: int) -> None:
        """Cancelled and resumed at once, while work of before may still be left."""
        run = self.open_runs[which % len(self.open_runs)]
        self.world.cancel_run(run)
        for _ in range(pieces):
            self.world.advance()
        if run.ended:
            self.world.replay(run, (), with_descendants=False)

    @rule(executor=st.sampled_from(EXECUTORS), slots=st.sampled_from([None, None, None, 0, 1, 3]))
    def set_target(self, executor: str, slots: int | None) -> None:
        self.world.set_target(executor, slots)

    @rule(name=st.sampled_from(PLANNERS), most_active=st.sampled_from([0, 0, 1, 2]))
    def replan(self, name: str, most_active: int) -> None:
        self.world.replan(name, most_active)

    @has("jobs")
    @rule(which=number, of_run=st.booleans(), priority=st.integers(0, 100))
    def reprioritise(self, which: int, of_run: bool, priority: int) -> None:
        job = self.jobs[which % len(self.jobs)]
        self.world.reprioritise(job.run.id if of_run else job.id, priority)

    @has("ended_runs")
    @rule(which=number)
    def prune(self, which: int) -> None:
        self.world.prune(self.ended_runs[which % len(self.ended_runs)])

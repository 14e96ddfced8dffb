"""Runs as the state machine draws them: small, and with a little of everything that a run can have."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from marie_celery.model.ranges import pack
from marie_celery.model.retry import RetryPolicy
from marie_celery.store.records import NewRun
from tests.redis.redis_runs import job, new_run, with_what_is_behind

EXECUTORS = ("ocr", "gpu")
TASKS = ("read", "write")
RULES = ("all_success", "all_done", "one_success", "none_failed", "one_failed")
MOST_JOBS = 5


@dataclass(frozen=True, slots=True)
class Plot:
    """What is drawn of one job. Its parents come before it."""

    parents: tuple[int, ...]
    rule: str
    executor: str
    task: str
    control: bool
    hard_in: int | None
    """An SLA of its own."""


@dataclass(frozen=True, slots=True)
class Shape:
    jobs: tuple[Plot, ...]
    retry_limit: int
    crash_limit: int
    retry_delay: int
    fail_fast: bool
    hard_in: int | None
    expires: bool
    priority: int
    replaces: bool
    """It has the one key that the machine knows, and takes the place of the run that has it."""

    @property
    def policy(self) -> RetryPolicy:
        return RetryPolicy(
            retry_limit=self.retry_limit,
            timeout_retry_limit=1,
            crash_limit=self.crash_limit,
            retry_delay=self.retry_delay,
        )

    def children(self, number: int) -> list[int]:
        return [child for child, plot in enumerate(self.jobs) if number in plot.parents]

    def new_run(self) -> NewRun:
        jobs = []
        levels: list[int] = []
        for number, plot in enumerate(self.jobs):
            levels.append(1 + max((levels[parent] for parent in plot.parents), default=-1))
            fields: dict[str, object] = {"level": levels[-1], "task": plot.task, "executor": plot.executor}
            fields["priority"] = self.priority
            if plot.rule != "all_success":
                fields["rule"] = plot.rule
            if plot.parents:
                fields |= {"deps": len(plot.parents), "parents": len(plot.parents)}
            if behind := self.children(number):
                fields["children"] = pack(behind)
            if plot.control:
                fields["control"] = "merge"
            if plot.hard_in is not None:
                fields |= {"hard_in": plot.hard_in, "sla": 1}
            jobs.append(job(f"j{number}", **fields))
        more: dict[str, object] = {"on_hard": "expire" if self.expires else "escalate"}
        if self.fail_fast:
            more["fail_fast"] = 1
        if self.hard_in is not None:
            more["hard_in"] = self.hard_in
        if any(plot.control for plot in self.jobs):
            more["controls"] = 1
        roots = [number for number, plot in enumerate(self.jobs) if not plot.parents]
        key = "the-key" if self.replaces else ""
        more |= {"priority": self.priority}
        jobs = with_what_is_behind(jobs, [plot.parents for plot in self.jobs])
        return new_run(jobs, roots=roots, policy=self.policy, key=key, duplicates="replace", **more)


def rarely(values: st.SearchStrategy[int]) -> st.SearchStrategy[int | None]:
    return st.one_of(st.none(), st.none(), st.none(), values)


_TWO_IN_TEN = st.integers(0, 9).map(lambda number: number > 7)
_SLA = rarely(st.sampled_from([1_000, 20_000, 100_000]))


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    plots: list[Plot] = []
    for number in range(draw(st.integers(1, MOST_JOBS))):
        # One bit per job before this one.
        bits = draw(st.integers(0, 2**number - 1)) if number else 0
        parents = tuple(other for other in range(number) if bits >> other & 1)
        plots.append(
            Plot(
                parents=parents,
                rule=draw(st.sampled_from(RULES)) if parents else "all_success",
                executor=draw(st.sampled_from(EXECUTORS)),
                task=draw(st.sampled_from(TASKS)),
                control=draw(_TWO_IN_TEN),
                hard_in=draw(_SLA),
            )
        )
    return Shape(
        jobs=tuple(plots),
        retry_limit=draw(st.integers(0, 2)),
        crash_limit=draw(st.integers(1, 3)),
        retry_delay=draw(st.sampled_from([0, 2])),
        fail_fast=draw(st.booleans()),
        hard_in=draw(_SLA),
        expires=draw(st.booleans()),
        priority=draw(st.sampled_from([0, 50, 100])),
        replaces=draw(_TWO_IN_TEN),
    )

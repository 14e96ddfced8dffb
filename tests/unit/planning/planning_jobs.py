"""Jobs for the tests of planners."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from marie_celery.model.priority import PriorityMode
from marie_celery.planning import PLANNERS, FlatJob, LevelMode, PlanningSettings

NOW = 1_767_268_800_000
SECOND = 1_000
MINUTE = 60_000
HOUR = 3_600_000

NAMES = [*PLANNERS, "priority, estimated_runtime"]


def job(number: int = 0, **fields: object) -> FlatJob:
    known = {"run_id": f"run{number}", "executor": "ocr", "submitted_ms": NOW, "ready_ms": NOW, **fields}
    return FlatJob(job_id=f"job{number:05}", **known)


def ids(jobs: list[FlatJob]) -> list[str]:
    return [each.job_id for each in jobs]


def active(jobs: list[FlatJob]) -> set[str]:
    return {each.run_id for each in jobs if not each.new_dag}


def recent(jobs: list[FlatJob], settings: PlanningSettings, now_ms: int = NOW) -> set[str]:
    return {
        each.run_id
        for each in jobs
        if each.run_activated_ms is not None and now_ms - each.run_activated_ms < settings.burst_window_ms
    }


past = st.integers(0, 3 * HOUR).map(lambda ago: NOW - ago) | st.integers(0, 12).map(
    lambda n: NOW - n * SECOND
)
slas = st.none() | st.integers(-3 * HOUR, 3 * HOUR).map(lambda offset: NOW + offset)
seconds = (
    st.none() | st.floats(0, 1e9) | st.sampled_from([0.0, 1e-9, 1.0, 2.0, float("inf"), float("nan"), -1.0])
)

settings = st.builds(
    PlanningSettings,
    priority_mode=st.sampled_from(PriorityMode),
    level_mode=st.sampled_from(LevelMode),
    starvation_timeout_ms=st.sampled_from([0, 30 * SECOND, 30 * MINUTE]),
)

single_jobs = st.builds(
    FlatJob,
    job_id=st.just("job"),
    run_id=st.integers(0, 5).map("run{}".format),
    executor=st.sampled_from(["ocr", "extract"]),
    level=st.integers(0, 4) | st.just(10**9),
    priority=st.integers(0, 120) | st.just(999),
    soft_sla_ms=slas,
    hard_sla_ms=slas,
    submitted_ms=past,
    ready_ms=past,
    estimated_runtime=seconds,
    remaining_path=seconds,
    run_activated_ms=st.none() | past,
)

# What needs no slot does not stand in line with what does.
control_jobs = single_jobs.map(lambda each: replace(each, executor="control", needs_slot=False))


@st.composite
def job_lists(draw: st.DrawFn, max_size: int = 12) -> list[FlatJob]:
    """Jobs with different ids in any order, those of one run agreeing on when it became active."""
    drawn = draw(st.lists(single_jobs | control_jobs, max_size=max_size))
    numbers = draw(st.permutations(range(len(drawn))))
    activated = {each.run_id: each.run_activated_ms for each in drawn}
    return [
        replace(each, job_id=f"job{number:05}", run_activated_ms=activated[each.run_id])
        for number, each in zip(numbers, drawn, strict=True)
    ]

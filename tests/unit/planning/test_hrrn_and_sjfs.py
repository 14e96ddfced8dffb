from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from planning_jobs import HOUR, MINUTE, NOW, SECOND, ids, job

from marie_celery.planning import HRRNExecutionPlanner, PlanningSettings, SJFSExecutionPlanner
from marie_celery.planning.ranking import ratio_next_change, ratio_step

HRRN = HRRNExecutionPlanner()
SJFS = SJFSExecutionPlanner()


def order(planner, *jobs, slots=None):
    return ids(planner.plan(jobs, slots or {"ocr": 1}, set(), now_ms=NOW))


def waiting(number, wait_s, runtime, **fields):
    return job(number, ready_ms=NOW - wait_s * SECOND, estimated_runtime=runtime, **fields)


def test_the_highest_response_ratio_is_next():
    assert order(HRRN, waiting(1, 10, 100), waiting(2, 10, 1), waiting(3, 600, 100)) == [
        "job00002",
        "job00003",
        "job00001",
    ]


def test_a_long_job_gets_its_turn_by_waiting():
    short, long = waiting(2, 60, 10), waiting(1, 60, 100)
    assert order(HRRN, short, long)[0] == short.job_id
    assert order(HRRN, short, waiting(1, 900, 100))[0] == long.job_id


def test_equal_ratios_are_decided_by_room_level_priority_and_age():
    even = [
        waiting(4, 10, 10),
        waiting(3, 10, 10),
        waiting(5, 10, 10, priority=80),
        waiting(6, 10, 10, level=1),
        waiting(7, 10, 10, executor="extract"),
    ]
    slots = {"ocr": 1, "extract": 2}
    assert order(HRRN, *even, slots=slots) == ["job00007", "job00006", "job00005", "job00003", "job00004"]


def test_without_an_estimate_the_ratio_stays_at_one():
    unknown = waiting(1, 10_000, None)
    assert order(HRRN, unknown, waiting(2, 2, 1)) == ["job00002", "job00001"]
    no_ageing = HRRNExecutionPlanner(PlanningSettings(starvation_timeout_ms=0))
    assert no_ageing.rank(unknown, NOW).valid_until_ms is None


def test_an_estimate_of_zero_is_a_very_short_job_and_not_a_division_by_zero():
    assert order(HRRN, waiting(1, 5, 0.5), waiting(2, 5, 0.0)) == ["job00002", "job00001"]
    assert order(HRRN, waiting(1, 0, 0.5), waiting(2, 0, 0.0)) == ["job00001", "job00002"]


@given(st.integers(0, 10**6), st.integers(1, 10**6), st.integers(0, 10**6), st.integers(1, 10**6))
def test_ratios_that_differ_by_an_eighth_are_told_apart(wait_a, runtime_a, wait_b, runtime_b):
    ratio_a, ratio_b = (wait_a + runtime_a) / runtime_a, (wait_b + runtime_b) / runtime_b
    step_a = ratio_step(wait_a * SECOND, runtime_a * SECOND)
    step_b = ratio_step(wait_b * SECOND, runtime_b * SECOND)
    if ratio_a > ratio_b * 1.126:
        assert step_a > step_b
    elif ratio_a > ratio_b:
        assert step_a >= step_b


@given(st.integers(0, 30 * HOUR), st.integers(0, 30 * HOUR))
def test_the_next_ratio_comes_exactly_when_it_is_announced(wait_ms, runtime_ms):
    change_ms = ratio_next_change(wait_ms, runtime_ms)
    step = ratio_step(wait_ms, runtime_ms)
    assert change_ms > wait_ms
    assert ratio_step(change_ms - 1, runtime_ms) == step < ratio_step(change_ms, runtime_ms)


@given(st.floats(0.001, 1e5))
def test_a_waiting_job_changes_its_ratio_at_most_once_a_second_and_ever_more_rarely(runtime):
    wait_ms, changes = 0, []
    while wait_ms <= HOUR:
        wait_ms = ratio_next_change(wait_ms, int(runtime * 1000))
        changes.append(wait_ms)
    assert all(later - sooner >= SECOND for sooner, later in pairwise(changes))
    assert len(changes) <= 8 * 22 + 2


def test_the_shortest_job_is_next_and_unknown_ones_are_last():
    jobs = [
        waiting(1, 900, None),
        waiting(2, 0, 30.0),
        waiting(3, 0, 0.5),
        waiting(4, 0, 29.0, priority=0),
    ]
    assert order(SJFS, *jobs) == ["job00003", "job00004", "job00002", "job00001"]


def test_equally_short_jobs_are_decided_by_priority_level_and_age():
    jobs = [job(3), job(2), job(4, level=3), job(5, priority=60), job(6, soft_sla_ms=NOW + MINUTE)]
    assert order(SJFS, *jobs) == ["job00006", "job00005", "job00004", "job00002", "job00003"]


def test_runtimes_that_hardly_differ_count_as_equal():
    assert order(SJFS, waiting(1, 0, 100.0), waiting(2, 0, 99.9)) == ["job00001", "job00002"]
    assert order(SJFS, waiting(1, 0, 100.0), waiting(2, 0, 99.0)) == ["job00002", "job00001"]

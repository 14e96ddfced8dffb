"""No job below `critical` waits for ever, whatever keeps arriving."""

from itertools import count

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planning_jobs import NOW, SECOND, job

from marie_celery.model.priority import PriorityMode
from marie_celery.planning import GlobalPriorityExecutionPlanner, PlanningSettings, planner

TIMEOUT_S = 60


def seconds_waited(chosen, patient, load_priority, give_up_s=1_000):
    """One slot, jobs of a second each, and a new rival every second: when does the first one start?"""
    waiting = [patient]
    for second in count():
        now_ms = NOW + second * SECOND
        waiting.append(job(second + 1, priority=load_priority, ready_ms=now_ms, submitted_ms=now_ms))
        best = chosen.plan(waiting, {"ocr": 1}, set(), now_ms=now_ms)[0]
        if best is patient or second == give_up_s:
            return second
        waiting.remove(best)
    raise AssertionError


def ageing(timeout_s=TIMEOUT_S):
    return GlobalPriorityExecutionPlanner(settings=PlanningSettings(starvation_timeout_ms=timeout_s * SECOND))


@given(st.integers(0, 99), st.integers(0, 99))
def test_ageing_bounds_the_wait_behind_a_constant_load_of_higher_priority(priority, load_priority):
    steps_needed = -(-max(0, load_priority - priority) // 10)
    waited_s = seconds_waited(ageing(), job(0, priority=priority), load_priority)
    assert waited_s <= steps_needed * TIMEOUT_S / 6
    assert steps_needed <= 10


@pytest.mark.parametrize("mode", PriorityMode)
@pytest.mark.parametrize("name", ["global", "classic", "hrrn", "sjfs", "priority, estimated_runtime"])
@hypothesis.settings(max_examples=25, deadline=None)
@given(
    priority=st.integers(0, 99),
    load=st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=3), min_size=1, max_size=8),
)
def test_ageing_bounds_the_wait_behind_any_load_below_critical(name, mode, priority, load):
    """Also when more arrives than can be done: one slot, up to three rivals a second, for ever."""
    knobs = PlanningSettings(starvation_timeout_ms=12 * SECOND, priority_mode=mode)
    chosen = planner(name, knobs)
    patient = job(0, priority=priority)
    waiting, number = [patient], 1
    for second in range(21):
        now_ms = NOW + second * SECOND
        for rival in load[second % len(load)]:
            waiting.append(job(number, priority=rival, ready_ms=now_ms, submitted_ms=now_ms))
            number += 1
        best = chosen.plan(waiting, {"ocr": 1}, set(), now_ms=now_ms)[0]
        if best is patient:
            break
        waiting.remove(best)
    steps = -(-(99 - priority) // 10)
    assert best is patient
    assert second <= steps * 2


def test_the_bound_is_reached_but_not_passed():
    assert seconds_waited(ageing(), job(0, priority=0), 99) == 10 * TIMEOUT_S // 6


def test_without_ageing_the_same_job_starves():
    assert seconds_waited(ageing(timeout_s=0), job(0, priority=0), 1) == 1_000


def test_critical_jobs_are_never_held_up_by_aged_ones():
    assert seconds_waited(ageing(), job(0, priority=0), 100) == 1_000


def test_the_slack_planner_bounds_the_wait_of_a_job_without_sla():
    chosen = planner("slack", PlanningSettings(slack_patience_ms=200 * SECOND))
    waiting = [job(0, priority=50)]
    for second in range(1_000):
        now_ms = NOW + second * SECOND
        waiting.append(
            job(second + 1, ready_ms=now_ms, submitted_ms=now_ms, hard_sla_ms=now_ms + 10 * SECOND)
        )
        best = chosen.plan(waiting, {"ocr": 1}, set(), now_ms=now_ms)[0]
        waiting.remove(best)
        if best.job_id == "job00000":
            break
    assert 90 <= second <= 101


@pytest.mark.parametrize("name", ["static", "fifo"])
def test_planners_without_the_priority_key_do_not_age(name):
    old = job(1, priority=0, ready_ms=0)
    assert planner(name).rank(old, NOW) == planner(name).rank(old, 0)

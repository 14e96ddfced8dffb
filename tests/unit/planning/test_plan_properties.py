"""What holds for every planner and all jobs."""

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planning_jobs import HOUR, NAMES, NOW, active, ids, job_lists, recent, settings, single_jobs

from marie_celery.planning import planner

names = st.sampled_from(NAMES)
slots = st.dictionaries(st.sampled_from(["ocr", "extract"]), st.integers(-1, 3) | st.just(10**9))
delays = st.integers(0, 4 * HOUR)


def plan(name, knobs, jobs, free=None, now_ms=NOW):
    return planner(name, knobs).plan(
        jobs, free or {"ocr": 1, "extract": 2}, active(jobs), recent(jobs, knobs, now_ms), now_ms=now_ms
    )


@given(names, settings, job_lists(), slots)
def test_a_plan_is_a_permutation_and_leaves_its_input_alone(name, knobs, jobs, free):
    before = list(jobs)
    planned = plan(name, knobs, jobs, free)
    assert sorted(ids(planned)) == sorted(ids(jobs))
    assert len(jobs) == len(before)
    assert all(now is then for now, then in zip(jobs, before, strict=True))


@given(names, settings, job_lists(), st.integers())
def test_a_plan_does_not_depend_on_the_order_of_its_input(name, knobs, jobs, seed):
    shuffled = random.Random(seed).sample(jobs, len(jobs))
    assert ids(plan(name, knobs, shuffled)) == ids(plan(name, knobs, jobs))


@pytest.mark.parametrize("name", NAMES)
@given(knobs=settings, jobs=job_lists(), delay_ms=delays)
def test_within_an_executor_a_plan_is_the_order_of_ranks(name, knobs, jobs, delay_ms):
    now_ms = NOW + delay_ms
    jobs = [replace(each, executor="ocr") for each in jobs]
    rank = planner(name, knobs).rank
    by_rank = sorted(jobs, key=lambda each: (rank(each, now_ms).score, each.job_id))
    assert ids(plan(name, knobs, jobs, now_ms=now_ms)) == ids(by_rank)


@given(names, settings, job_lists(), slots)
def test_jobs_of_one_executor_keep_the_order_of_ranks_in_a_plan_for_all(name, knobs, jobs, free):
    rank = planner(name, knobs).rank
    ocr = [each for each in plan(name, knobs, jobs, free) if each.executor == "ocr"]
    assert ids(ocr) == ids(sorted(ocr, key=lambda each: (rank(each, NOW).score, each.job_id)))


@given(names, settings, single_jobs, delays)
def test_a_rank_is_a_whole_number_that_a_double_holds_exactly(name, knobs, job, delay_ms):
    score = planner(name, knobs).rank(job, NOW + delay_ms).score
    assert not math.isnan(score)
    assert score == int(score)
    assert 0 <= score < 2**53


@pytest.mark.parametrize("name", NAMES)
@given(knobs=settings, job=single_jobs, delay_ms=delays, data=st.data())
def test_a_rank_is_right_until_the_moment_it_names(name, knobs, job, delay_ms, data):
    rank = planner(name, knobs).rank
    now_ms = NOW + delay_ms
    score, until_ms = rank(job, now_ms)
    if until_ms is None:
        assert rank(job, now_ms + data.draw(st.integers(0, 10**11))).score == score
    else:
        assert until_ms > now_ms
        assert rank(job, data.draw(st.integers(now_ms, until_ms - 1))).score == score
        assert rank(job, until_ms - 1).score == score


@pytest.mark.parametrize("name", NAMES)
@given(knobs=settings, job=single_jobs, priority=st.integers(0, 999))
def test_a_higher_priority_never_worsens_the_place(name, knobs, job, priority):
    rank = planner(name, knobs).rank
    low, high = sorted((job.priority, priority))
    assert rank(replace(job, priority=high), NOW).score <= rank(replace(job, priority=low), NOW).score


@given(names, settings, job_lists())
def test_the_fields_of_a_rank_can_be_read_again(name, knobs, jobs):
    chosen = planner(name, knobs)
    for job in jobs:
        score = chosen.rank(job, NOW).score
        packed = 0
        for key in chosen.keys:
            if key.in_rank:
                packed = packed * 2**key.bits + chosen.explain(score)[key.name]
        assert packed == score


@pytest.mark.parametrize("name", NAMES)
def test_nothing_to_plan_is_an_empty_plan(name):
    assert planner(name).plan([], {}, set()) == []


@given(names, job_lists(), slots)
def test_blocked_jobs_are_left_out_on_request(name, jobs, free):
    planned = planner(name).plan(jobs, free, set(), exclude_blocked=True, now_ms=NOW)
    assert sorted(ids(planned)) == sorted(each.job_id for each in jobs if free.get(each.executor, 0) > 0)

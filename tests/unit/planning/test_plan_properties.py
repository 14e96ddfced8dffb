"""What holds for every planner and all jobs."""

import math
import os
import random
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planning_jobs import HOUR, NAMES, NOW, active, ids, job, job_lists, recent, settings, single_jobs

from marie_celery.planning import planner

names = st.sampled_from(NAMES)
slots = st.dictionaries(st.sampled_from(["ocr", "extract"]), st.integers(-1, 3) | st.just(10**9))
delays = st.integers(0, 4 * HOUR)


def plan(name, knobs, jobs, free=None, now_ms=NOW):
    return planner(name, knobs).plan(
        jobs, free or {"ocr": 1, "extract": 2}, active(jobs), recent(jobs, knobs, now_ms), now_ms=now_ms
    )


@given(names, settings, job_lists(), slots)
def test_a_plan_is_a_permutation(name, knobs, jobs, free):
    assert sorted(ids(plan(name, knobs, jobs, free))) == sorted(ids(jobs))


@given(names, settings, job_lists(), slots, st.booleans())
def test_a_plan_leaves_its_input_alone(name, knobs, jobs, free, exclude):
    given_jobs, given_free, dags, fresh = list(jobs), dict(free), active(jobs), recent(jobs, knobs)
    before = repr(jobs), dict(free), set(dags), set(fresh)
    planned = planner(name, knobs).plan(given_jobs, given_free, dags, fresh, exclude_blocked=exclude, now_ms=NOW)
    assert planned is not given_jobs
    # NaN differs from itself, so the jobs are compared by what they show.
    assert (repr(given_jobs), given_free, dags, fresh) == before
    assert all(now is then for now, then in zip(given_jobs, jobs, strict=True))


@given(names, settings, job_lists(), slots)
def test_the_same_question_has_the_same_answer(name, knobs, jobs, free):
    assert ids(plan(name, knobs, jobs, free)) == ids(plan(name, knobs, jobs, free))
    assert all(planner(name, knobs).rank(job, NOW) == planner(name, knobs).rank(job, NOW) for job in jobs)


@given(names, settings, job_lists(), st.integers())
def test_a_plan_does_not_depend_on_the_order_of_its_input(name, knobs, jobs, seed):
    shuffled = random.Random(seed).sample(jobs, len(jobs))
    assert ids(plan(name, knobs, shuffled)) == ids(plan(name, knobs, jobs))


@pytest.mark.parametrize("name", NAMES)
@given(knobs=settings, jobs=job_lists(), delay_ms=delays)
def test_within_an_executor_a_plan_is_the_order_of_ranks(name, knobs, jobs, delay_ms):
    now_ms = NOW + delay_ms
    jobs = [replace(each, executor="ocr", needs_slot=True) for each in jobs]
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
    for each in jobs:
        score = chosen.rank(each, NOW).score
        packed = 0
        for key in chosen.keys:
            if key.in_rank:
                packed = packed * 2**key.bits + chosen.explain(score)[key.name]
        assert packed == score


@pytest.mark.parametrize("name", NAMES)
def test_nothing_to_plan_is_an_empty_plan(name):
    assert planner(name).plan([], {}, set()) == []


@given(names, settings, job_lists(), slots)
def test_blocked_jobs_are_left_out_on_request_and_the_others_keep_their_order(name, knobs, jobs, free):
    chosen = planner(name, knobs)
    view = free, active(jobs), recent(jobs, knobs)
    unblocked = {each.job_id for each in jobs if not each.needs_slot or free.get(each.executor, 0) > 0}
    everything = ids(chosen.plan(jobs, *view, now_ms=NOW))
    without = ids(chosen.plan(jobs, *view, exclude_blocked=True, now_ms=NOW))
    assert without == [each for each in everything if each in unblocked]


@pytest.mark.parametrize("name", NAMES)
@given(knobs=settings, jobs=job_lists(), free=slots, data=st.data())
def test_a_raise_never_moves_a_job_back_in_the_plan(name, knobs, jobs, free, data):
    if not jobs:
        return
    place = data.draw(st.integers(0, len(jobs) - 1))
    raised = replace(jobs[place], priority=data.draw(st.integers(jobs[place].priority, 999)))
    after = [*jobs[:place], raised, *jobs[place + 1 :]]
    chosen = raised.job_id
    assert ids(plan(name, knobs, after, free)).index(chosen) <= ids(plan(name, knobs, jobs, free)).index(chosen)


PRIORITY_KEYS = {"priority", "user_priority", "latest_start"}
BY_PRIORITY = [name for name in NAMES if PRIORITY_KEYS & {key.name for key in planner(name).keys}]


def test_in_every_planner_but_fifo_the_priority_takes_part():
    assert set(NAMES) - set(BY_PRIORITY) == {"fifo"}


@pytest.mark.parametrize("name", BY_PRIORITY)
@given(low=st.integers(0, 998), data=st.data())
def test_of_two_jobs_alike_the_more_important_one_is_first(name, low, data):
    older, newer = job(1, priority=low), job(2, priority=data.draw(st.integers(low + 1, 999)))
    assert ids(planner(name).plan([older, newer], {"ocr": 1}, set(), now_ms=NOW)) == ["job00002", "job00001"]


ODD = [None, math.nan, math.inf, -math.inf, -1.0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("field", ["estimated_runtime", "remaining_path"])
def test_an_estimate_that_is_no_runtime_is_as_good_as_none(name, field):
    ranks = {planner(name).rank(job(1, **{field: odd}), NOW) for odd in ODD}
    assert len(ranks) == 1


@pytest.mark.parametrize("name", NAMES)
@given(jobs=st.lists(st.sampled_from([*ODD, 0.0, 1e-9, 1.0, 1e308]), min_size=1, max_size=8), wait_ms=delays)
def test_whatever_the_estimates_the_places_are_numbers_in_one_order(name, jobs, wait_ms):
    chosen = planner(name)
    odd = [job(number, estimated_runtime=each, remaining_path=each) for number, each in enumerate(jobs)]
    scores = [chosen.rank(each, NOW + wait_ms).score for each in odd]
    assert all(0 <= score < 2**53 and score.is_integer() for score in scores)
    in_order = chosen.plan(odd, {"ocr": 1}, set(), now_ms=NOW + wait_ms)
    assert ids(in_order) == ids(chosen.plan(odd[::-1], {"ocr": 1}, set(), now_ms=NOW + wait_ms))


HASHED = """
from marie_celery.planning import PLANNERS, FlatJob, planner
jobs = [
    FlatJob(job_id=f"j{n:03}", run_id=f"r{n % 7}", executor="ab"[n % 2], level=n % 3, estimated_runtime=n % 5)
    for n in range(60)
]
for name in PLANNERS:
    planned = planner(name).plan(jobs, {"a": 1, "b": 2}, {"r1", "r2", "r3"}, {"r2", "r4"}, now_ms=9)
    print(name, *[job.job_id for job in planned])
"""


def test_a_plan_does_not_depend_on_the_hashes_of_this_process():
    answers = {
        subprocess.run(
            [sys.executable, "-c", HASHED],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(answers) == 1

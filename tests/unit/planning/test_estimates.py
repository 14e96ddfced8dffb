from functools import reduce
from random import Random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marie_celery.planning import RuntimeEstimate

runtimes = st.floats(0, 1e7)


def learned(seconds, start=None):
    return reduce(RuntimeEstimate.observe, seconds, start or RuntimeEstimate())


def test_a_task_that_never_ran_has_no_estimate():
    assert RuntimeEstimate().seconds is None


def test_the_first_runtime_is_the_first_estimate():
    assert learned([2.5]).seconds == pytest.approx(2.5)


@given(st.floats(0.001, 1e6), st.integers(1, 50))
def test_a_constant_runtime_is_learned_exactly(seconds, times):
    assert learned([seconds] * times).seconds == pytest.approx(seconds)


@pytest.mark.parametrize("outlier", [1e-9, 3_600.0, 1e7])
def test_one_outlier_moves_the_estimate_by_less_than_a_fifth(outlier):
    random = Random(1)
    before = learned(random.lognormvariate(1.0, 0.2) for _ in range(100))
    after = before.observe(outlier)
    assert after.seconds == pytest.approx(before.seconds, rel=0.2)


def test_a_stuck_job_every_now_and_then_does_not_count():
    random = Random(2)
    seen = [7_200.0 if n % 20 == 19 else random.lognormvariate(1.0, 0.2) for n in range(200)]
    assert learned(seen).seconds == pytest.approx(median(seen), rel=0.5)


@pytest.mark.parametrize(("now", "bounds"), [(1.0, (1.0, 2.0)), (100.0, (50.0, 100.0))])
def test_a_task_that_has_changed_is_followed_within_twenty_runs(now, bounds):
    before = learned([10.0] * 100)
    after = learned([now] * 20, before)
    assert bounds[0] <= after.seconds <= bounds[1]


def test_the_estimate_is_the_typical_runtime_of_a_skewed_task_not_the_mean():
    random = Random(3)
    seen = [random.paretovariate(1.1) for _ in range(400)]
    assert median(seen) / 1.5 < learned(seen).seconds < median(seen) * 1.5


@given(st.lists(runtimes, max_size=30))
def test_an_estimate_survives_being_stored(seconds):
    estimate = learned(seconds)
    assert RuntimeEstimate.from_text(estimate.as_text()) == estimate


def test_an_empty_hash_is_a_task_that_never_ran():
    assert RuntimeEstimate.from_text(None) == RuntimeEstimate()


@given(st.lists(runtimes, min_size=1, max_size=30))
def test_an_estimate_lies_between_the_shortest_and_the_longest_runtime_seen(seconds):
    shortest, longest = max(0.001, min(seconds)), max(0.001, max(seconds))
    assert shortest * 0.999 <= learned(seconds).seconds <= longest * 1.001


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_a_runtime_that_cannot_be_is_refused(seconds):
    with pytest.raises(ValueError, match="cannot be"):
        RuntimeEstimate().observe(seconds)

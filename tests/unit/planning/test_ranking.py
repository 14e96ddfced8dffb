"""The arithmetic that a script repeats with doubles."""

import math

from hypothesis import given
from hypothesis import strategies as st

from marie_celery.planning.job import LONGEST_MS, whole_ms
from marie_celery.planning.ranking import (
    LEVEL_LAST,
    PATH_STEPS,
    RATIO_STEPS,
    RUNTIME_STEPS,
    RUNTIME_UNKNOWN,
    log_step,
    path_step,
    runtime_step,
)

spans = st.integers(0, LONGEST_MS)


def log_step_in_doubles(numerator, denominator, steps):
    """As a script does it: `math.frexp`, `math.floor` and no integers."""
    numerator, denominator = float(numerator), float(denominator)
    doublings = math.frexp(math.floor(numerator / denominator))[1] - 1
    base = denominator * 2.0**doublings
    assert (numerator - base) * steps < 2**53
    return steps * doublings + math.floor((numerator - base) * steps / base)


@given(spans, st.sampled_from([RUNTIME_STEPS, PATH_STEPS]))
def test_steps_are_the_same_in_doubles(span_ms, steps):
    assert log_step(span_ms + 1, 1, steps) == log_step_in_doubles(span_ms + 1, 1, steps)


@given(st.integers(0, 2**41), st.integers(1, LONGEST_MS))
def test_ratios_are_the_same_in_doubles(wait_ms, runtime_ms):
    ratio = wait_ms + runtime_ms, runtime_ms, RATIO_STEPS
    assert log_step(*ratio) == log_step_in_doubles(*ratio)


@given(st.integers(1, 2**20), st.integers(1, 2**20), st.integers(-1, 1))
def test_ratios_next_to_a_whole_number_are_the_same_in_doubles(runtime_ms, times, offset):
    ratio = max(runtime_ms, runtime_ms * times + offset), runtime_ms, RATIO_STEPS
    assert log_step(*ratio) == log_step_in_doubles(*ratio)


def test_a_doubling_is_so_many_steps():
    assert [log_step(value, 1, 8) for value in (1, 2, 3, 4, 8)] == [0, 8, 12, 16, 24]
    assert log_step(15, 10, 8) == 4


@given(spans, spans)
def test_a_longer_span_never_has_a_lower_step(span_a, span_b):
    short, long = sorted((span_a, span_b))
    assert runtime_step(short) <= runtime_step(long) < RUNTIME_UNKNOWN
    assert path_step(short) <= path_step(long) <= LEVEL_LAST


def test_unknown_is_longer_than_everything():
    assert runtime_step(None) > runtime_step(LONGEST_MS)
    assert path_step(None) >= path_step(LONGEST_MS)


def test_seconds_become_whole_milliseconds_and_odd_ones_unknown():
    assert whole_ms(1.2345) == 1234
    assert whole_ms(1e300) == LONGEST_MS
    for odd in (None, math.inf, math.nan, -0.001):
        assert whole_ms(odd) is None

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marie_celery.model.ageing import ageing_next_change, effective_priority, promotions

SECOND = 1000
HALF_MINUTE = 30 * SECOND

priorities = st.integers(0, 999)
waits = st.integers(0, 10**7)
timeouts = st.one_of(st.just(0), st.integers(1, 10**7))


@pytest.mark.parametrize(
    ("wait_ms", "priority"),
    [(0, 0), (4_999, 0), (5_000, 10), (9_999, 10), (10_000, 20), (30_000, 60), (49_999, 90), (50_000, 99)],
)
def test_thirty_seconds_of_timeout_raise_by_ten_every_five_seconds(wait_ms, priority):
    assert effective_priority(0, wait_ms, HALF_MINUTE) == priority


@pytest.mark.parametrize(("wait_s", "priority"), [(299, 50), (300, 60), (301, 60), (599, 60), (1800, 99)])
def test_the_timeout_is_the_knob(wait_s, priority):
    assert effective_priority(50, wait_s * SECOND, 1800 * SECOND) == priority


@pytest.mark.parametrize("priority", [100, 101, 999])
def test_critical_jobs_and_above_do_not_age(priority):
    assert effective_priority(priority, 10**9, HALF_MINUTE) == priority
    assert ageing_next_change(priority, 0, 0, HALF_MINUTE) is None


def test_a_timeout_of_zero_turns_ageing_off():
    assert effective_priority(0, 10**9, 0) == 0
    assert ageing_next_change(0, 0, 10**9, 0) is None
    assert promotions(0, 10**9, 0) == 0


def test_a_wait_that_has_not_begun_is_no_wait():
    assert effective_priority(7, -1, HALF_MINUTE) == 7
    assert ageing_next_change(7, 1_000, 0, HALF_MINUTE) == 6_000


@given(st.integers(0, 99), waits, timeouts)
def test_an_aged_job_never_becomes_critical_and_never_falls(priority, wait_ms, timeout_ms):
    assert priority <= effective_priority(priority, wait_ms, timeout_ms) <= 99


@given(priorities, waits, st.integers(0, 10**13), timeouts)
def test_the_next_change_is_the_first_moment_with_another_priority(priority, wait_ms, since_ms, timeout_ms):
    def at(moment_ms):
        return effective_priority(priority, moment_ms - since_ms, timeout_ms)

    now_ms = since_ms + wait_ms
    change_ms = ageing_next_change(priority, since_ms, now_ms, timeout_ms)
    if change_ms is None:
        assert at(now_ms) == at(now_ms + 10**12)
    else:
        assert change_ms > now_ms
        assert at(change_ms - 1) == at(now_ms) < at(change_ms)


@given(st.integers(0, 120), st.integers(0, 100_000))
def test_promotions_count_every_raise_once(priority, wait_ms):
    seen = {effective_priority(priority, step * 5_000, HALF_MINUTE) for step in range(wait_ms // 5_000 + 1)}
    assert promotions(priority, wait_ms, HALF_MINUTE) == len(seen) - 1

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from marie_celery.model.retry import Backoff, FailureKind, RetryPolicy


def test_by_default_the_delay_doubles_from_two_seconds():
    policy = RetryPolicy()
    assert policy.backoff is Backoff.EXPONENTIAL_BACKOFF
    assert [policy.delay(count) for count in range(1, 7)] == [2, 4, 8, 16, 32, 64]


def test_the_delay_stops_at_its_maximum():
    policy = RetryPolicy()
    assert [policy.delay(count) for count in (11, 12, 13, 1000)] == [2048, 3600, 3600, 3600]


def test_doubling_stops_after_sixteen_times():
    policy = RetryPolicy(retry_delay=1, retry_max_delay=10**9)
    assert [policy.delay(count) for count in (16, 17, 18, 5000)] == [2**15, 2**16, 2**16, 2**16]


def test_without_backoff_the_delay_stays():
    policy = RetryPolicy(retry_delay=3, retry_backoff=False)
    assert policy.backoff is Backoff.FIXED_BACKOFF
    assert [policy.delay(count) for count in (1, 2, 9)] == [3, 3, 3]


def test_jitter_takes_its_part_off_by_the_roll():
    policy = RetryPolicy(retry_delay=10, retry_jitter=0.5)
    assert [policy.delay(1, roll) for roll in (0, 0.5, 1)] == [10, 7.5, 5]


@given(st.integers(1, 10_000), st.floats(0, 1), st.floats(0, 1))
def test_a_delay_is_never_negative_and_never_above_the_maximum(count, roll, jitter):
    policy = RetryPolicy(retry_jitter=jitter)
    assert 0 <= policy.delay(count, roll) <= policy.retry_max_delay


@pytest.mark.parametrize(
    ("kind", "allowed"),
    [(FailureKind.FAILURE, [1, 2]), (FailureKind.TIMEOUT, [1, 2, 3]), (FailureKind.CRASH, [1, 2])],
)
def test_each_kind_of_failure_has_a_limit_of_its_own(kind, allowed):
    assert [count for count in range(1, 10) if RetryPolicy().allows(kind, count)] == allowed


def test_a_limit_of_none_at_all_means_the_first_failure_is_the_last():
    assert not RetryPolicy(retry_limit=0).allows(FailureKind.FAILURE, 1)


@pytest.mark.parametrize(
    "wrong", [{"retry_limit": -1}, {"retry_jitter": 2}, {"crash_limit": 0}, {"retries": 3}]
)
def test_a_policy_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValidationError):
        RetryPolicy(**wrong)

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from marie_celery.web.backlog import AGES, Sample, Waiting, backlog_of


def test_nothing_waits() -> None:
    found = backlog_of([Sample(0, []), Sample(0, [])])
    assert (found.jobs, found.seconds, found.oldest_seconds, found.is_sampled) == (0, 0.0, 0.0, False)
    assert found.by_age == (0,) * len(AGES)


def test_every_job_is_in_the_band_of_its_age() -> None:
    ages = [0, 999, 1_000, 9_999, 10_000, 60_000, 600_000, 3_600_000, 10**9]
    assert backlog_of([Sample(len(ages), [Waiting(age, 1) for age in ages])]).by_age == (2, 2, 1, 1, 1, 2)


def test_jobs_without_an_estimate_count_like_the_average_of_the_others() -> None:
    seen = [Waiting(0, 1_000), Waiting(0, 3_000), Waiting(0, None)]
    assert backlog_of([Sample(3, seen)]).seconds == 6.0


def test_each_set_is_scaled_by_its_own_sample() -> None:
    few, many = Sample(2, [Waiting(0, 9_000)] * 2), Sample(1_000, [Waiting(5_000, 1_000)] * 10)
    found = backlog_of([few, many])
    assert (found.jobs, found.seconds, found.is_sampled) == (1_002, 1_018.0, True)
    assert found.by_age[:2] == (2, 1_000)


def test_the_next_in_line_count_for_the_longest_wait_only() -> None:
    found = backlog_of([Sample(100, [Waiting(1_000, 1)], [Waiting(90_000, 1)])])
    assert (found.oldest_seconds, found.by_age[1]) == (90.0, 100)


def test_a_set_whose_sample_has_just_gone_counts_like_the_others() -> None:
    assert backlog_of([Sample(3, []), Sample(1, [Waiting(0, 2_000)])]).seconds == 8.0


WAITING = st.builds(Waiting, st.integers(0, 10**8), st.one_of(st.none(), st.integers(0, 10**6)))


@given(st.lists(st.lists(WAITING, max_size=20).map(lambda seen: Sample(len(seen), seen)), max_size=4))
def test_what_is_seen_in_full_is_told_exactly(samples: list[Sample]) -> None:
    found = backlog_of(samples)
    assert found.jobs == sum(found.by_age)
    assert not found.is_sampled
    known = [each.estimate_ms for sample in samples for each in sample.seen if each.estimate_ms is not None]
    assert found.seconds is None or found.seconds >= round(sum(known) / 1000, 3)

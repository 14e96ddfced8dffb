import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from marie_celery.model.sla import BUCKET_MS, sla_next_change, sla_score

SECOND = 1000
BUCKET = BUCKET_MS
NOON = 1_767_268_800_000

moments = st.integers(-600 * BUCKET, 1100 * BUCKET) | st.integers(-5, 5).map(lambda n: n * BUCKET)
slas = st.none() | moments.map(lambda offset: NOON + offset)


def around(edge_ms):
    """One second before, at, and after."""
    return edge_ms - SECOND, edge_ms, edge_ms + SECOND


def test_without_an_sla_there_is_no_score_and_never_will_be():
    assert sla_score(NOON, None, None) == 0
    assert sla_next_change(NOON, None, None) is None


@pytest.mark.parametrize(
    ("edge_ms", "scores"),
    [
        (NOON - 600 * BUCKET, (1, 1, 1)),
        (NOON - 499 * BUCKET, (1, 1, 1)),
        (NOON - 498 * BUCKET, (1, 2, 2)),
        (NOON - 2 * BUCKET, (497, 498, 498)),
        (NOON - BUCKET, (498, 499, 499)),
        (NOON, (499, 499, 500)),
        (NOON + BUCKET, (500, 501, 501)),
        (NOON + 499 * BUCKET, (998, 999, 999)),
        (NOON + 500 * BUCKET, (999, 999, 999)),
    ],
)
def test_a_soft_sla_at_noon_scores_around_each_edge(edge_ms, scores):
    assert tuple(sla_score(now_ms, NOON, None) for now_ms in around(edge_ms)) == scores


@pytest.mark.parametrize(
    ("edge_ms", "scores"),
    [
        (NOON - 498 * BUCKET, (1, 2, 2)),
        (NOON - BUCKET, (498, 499, 499)),
        (NOON, (499, 499, 1000)),
        (NOON + BUCKET, (1000, 1001, 1001)),
        (NOON + 999 * BUCKET, (1998, 1999, 1999)),
        (NOON + 1000 * BUCKET, (1999, 1999, 1999)),
    ],
)
def test_a_hard_sla_alone_rises_too_and_leaps_when_it_is_missed(edge_ms, scores):
    assert tuple(sla_score(now_ms, None, NOON) for now_ms in around(edge_ms)) == scores


def test_a_missed_soft_sla_counts_until_the_hard_one_is_missed_as_well():
    soft_ms, hard_ms = NOON, NOON + 3 * BUCKET
    assert sla_score(hard_ms - 1, soft_ms, hard_ms) == 502
    assert sla_score(hard_ms, soft_ms, hard_ms) == 503
    assert sla_score(hard_ms + 1, soft_ms, hard_ms) == 1000


def test_while_both_are_ahead_the_soft_one_counts():
    assert sla_score(NOON - BUCKET, NOON, NOON + 100 * BUCKET) == 499


def test_both_at_the_same_moment_are_missed_together():
    assert sla_score(NOON, NOON, NOON) == 499
    assert sla_score(NOON + 1, NOON, NOON) == 1000
    assert sla_next_change(NOON, NOON, NOON) == NOON + 1


def test_a_far_deadline_is_not_looked_at_before_its_score_moves():
    soft_ms = NOON + 10_000 * BUCKET
    assert sla_next_change(NOON, soft_ms, None) == soft_ms - 498 * BUCKET


def test_a_missed_hard_sla_ends_at_its_highest_score():
    assert sla_next_change(NOON + 999 * BUCKET - 1, None, NOON) == NOON + 999 * BUCKET
    assert sla_next_change(NOON + 999 * BUCKET, None, NOON) is None


def test_a_soft_score_at_its_highest_still_waits_for_the_hard_sla():
    hard_ms = NOON + 2000 * BUCKET
    assert sla_next_change(NOON + 600 * BUCKET, NOON, hard_ms) == hard_ms + 1
    assert sla_next_change(NOON + 600 * BUCKET, NOON, None) is None


@given(slas, slas)
@example(NOON, None)
@example(None, NOON)
@example(NOON + 498 * BUCKET, None)
@example(NOON + 499 * BUCKET, None)
@example(NOON + BUCKET, NOON + BUCKET)
@example(NOON, NOON - 1)
def test_the_next_change_is_the_first_millisecond_with_another_score(soft_ms, hard_ms):
    score = sla_score(NOON, soft_ms, hard_ms)
    change_ms = sla_next_change(NOON, soft_ms, hard_ms)
    if change_ms is None:
        assert sla_score(NOON + 3000 * BUCKET, soft_ms, hard_ms) == score
    else:
        assert change_ms > NOON
        assert sla_score(change_ms - 1, soft_ms, hard_ms) == score
        assert sla_score(change_ms, soft_ms, hard_ms) > score


@given(slas, slas)
def test_following_the_changes_visits_every_score(soft_ms, hard_ms):
    now_ms, seen = NOON, []
    while (change_ms := sla_next_change(now_ms, soft_ms, hard_ms)) is not None:
        now_ms = change_ms
        seen.append(sla_score(now_ms, soft_ms, hard_ms))
    assert seen == sorted(set(seen))
    assert len(seen) <= 499 + 500 + 1000

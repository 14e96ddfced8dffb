"""The SLA score inside a rank: around each edge, at its ends, and whatever the zone the deadline was written in."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from planning_jobs import NOW, SECOND, ids, job

from marie_celery.model.sla import Sla
from marie_celery.planning import GlobalPriorityExecutionPlanner, PlanningSettings

BUCKET = 900 * SECOND
URGENCY = GlobalPriorityExecutionPlanner(("priority",), PlanningSettings(starvation_timeout_ms=0))


def score(now_ms, soft_ms=None, hard_ms=None):
    """The SLA score that the place of a job of priority 7 carries."""
    place = URGENCY.rank(job(1, priority=7, soft_sla_ms=soft_ms, hard_sla_ms=hard_ms), now_ms).score
    sla_score, user = divmod(1_999_999 - int(place), 1_000)
    assert user == 7
    return sla_score


def around(edge_ms, **slas):
    return [score(edge_ms + offset, **slas) for offset in (-SECOND, 0, SECOND)]


@pytest.mark.parametrize(
    ("buckets", "scores"),
    [
        (-499, [1, 1, 1]),
        (-498, [1, 2, 2]),
        (-1, [498, 499, 499]),
        (0, [499, 499, 500]),
        (1, [500, 501, 501]),
        (499, [998, 999, 999]),
        (5_000, [999, 999, 999]),
    ],
)
def test_a_soft_sla_around_each_edge(buckets, scores):
    assert around(NOW + buckets * BUCKET, soft_ms=NOW) == scores


@pytest.mark.parametrize(
    ("buckets", "scores"),
    [
        (-498, [1, 2, 2]),
        (-1, [498, 499, 499]),
        (0, [499, 499, 1000]),
        (1, [1000, 1001, 1001]),
        (999, [1998, 1999, 1999]),
        (5_000, [1999, 1999, 1999]),
    ],
)
def test_only_a_hard_sla_around_each_edge(buckets, scores):
    assert around(NOW + buckets * BUCKET, hard_ms=NOW) == scores


def test_with_both_the_soft_one_counts_until_the_hard_one_is_missed():
    both = {"soft_ms": NOW, "hard_ms": NOW + 2 * BUCKET}
    assert around(NOW, **both) == [499, 499, 500]
    assert around(NOW + 2 * BUCKET, **both) == [501, 502, 1000]


def test_a_soft_sla_after_the_hard_one_does_not_soften_it():
    """No submit accepts such a pair, but a planner may be asked about any."""
    twisted = {"soft_ms": NOW + 2 * BUCKET, "hard_ms": NOW}
    assert around(NOW, **twisted) == [497, 498, 1000]
    assert around(NOW + 2 * BUCKET, **twisted) == [1001, 1002, 1002]


def test_no_sla_scores_nothing_and_stands_behind_the_farthest_deadline():
    assert score(NOW) == 0
    far = job(2, soft_sla_ms=NOW + 10_000 * BUCKET)
    assert ids(URGENCY.plan([job(1), far], {"ocr": 1}, set(), now_ms=NOW)) == ["job00002", "job00001"]


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/St_Johns", "Asia/Kathmandu", "Europe/Berlin"])
def test_one_moment_in_two_zones_has_one_place(zone):
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=NOW)
    elsewhere = moment.astimezone(ZoneInfo(zone))
    assert elsewhere.utcoffset() != timedelta(0)
    (soft_ms, _), (same_ms, _) = Sla.parse(moment).at(0), Sla.parse(elsewhere.isoformat()).at(0)
    assert around(NOW, soft_ms=soft_ms) == around(NOW, soft_ms=same_ms) == [499, 499, 500]


def test_the_hour_that_a_clock_shows_twice_is_two_moments():
    berlin = ZoneInfo("Europe/Berlin")
    first = datetime(2026, 10, 25, 2, 30, tzinfo=berlin)
    second = first.replace(fold=1)
    (first_ms, _), (second_ms, _) = Sla.parse(first).at(0), Sla.parse(second).at(0)
    assert second_ms - first_ms == 4 * BUCKET
    assert score(first_ms + 1, soft_ms=first_ms) - score(first_ms + 1, soft_ms=second_ms) == 4

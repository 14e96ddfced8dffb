from planning_jobs import HOUR, MINUTE, NOW, SECOND, ids, job

from marie_celery.planning import PlanningSettings, SlackExecutionPlanner

SLACK = SlackExecutionPlanner()
PATIENCE = PlanningSettings().slack_patience_ms


def order(*jobs, now_ms=NOW):
    return ids(SLACK.plan(jobs, {"ocr": 1}, set(), now_ms=now_ms))


def test_the_least_slack_is_next_not_the_nearest_deadline():
    near = job(1, hard_sla_ms=NOW + 10 * MINUTE, remaining_path=10)
    tight = job(2, hard_sla_ms=NOW + 20 * MINUTE, remaining_path=15 * 60)
    assert order(near, tight) == ["job00002", "job00001"]


def test_the_own_runtime_counts_if_the_path_is_unknown_and_nothing_if_that_is_too():
    jobs = [
        job(1, hard_sla_ms=NOW + 10 * MINUTE),
        job(2, hard_sla_ms=NOW + 10 * MINUTE, estimated_runtime=60),
        job(3, hard_sla_ms=NOW + 10 * MINUTE, estimated_runtime=60, remaining_path=120),
    ]
    assert order(*jobs) == ["job00003", "job00002", "job00001"]


def test_a_waiting_job_keeps_its_place_until_its_latest_start_has_passed():
    waiting = job(1, soft_sla_ms=NOW + 10 * MINUTE, remaining_path=60)
    latest = NOW + 9 * MINUTE
    assert SLACK.rank(waiting, NOW) == SLACK.rank(waiting, latest)
    assert SLACK.rank(waiting, latest).valid_until_ms == latest + 1
    assert SLACK.rank(waiting, latest + 1).score > SLACK.rank(waiting, latest).score


def test_what_cannot_be_saved_makes_way_for_what_can():
    lost = job(1, hard_sla_ms=NOW + 59 * SECOND, remaining_path=60)
    saved = job(2, hard_sla_ms=NOW + 2 * HOUR, remaining_path=60)
    assert order(lost, saved) == ["job00002", "job00001"]
    assert order(lost, saved, now_ms=NOW - SECOND) == ["job00001", "job00002"]


def test_a_lost_soft_sla_leaves_the_hard_one_to_aim_at():
    both = job(1, soft_sla_ms=NOW + MINUTE, hard_sla_ms=NOW + HOUR)
    assert SLACK.rank(both, NOW).valid_until_ms == NOW + MINUTE + 1
    assert SLACK.rank(both, NOW + MINUTE + 1).valid_until_ms == NOW + HOUR + 1
    only_hard = job(2, hard_sla_ms=NOW + HOUR - MINUTE)
    assert order(both, only_hard) == ["job00001", "job00002"]
    assert order(both, only_hard, now_ms=NOW + MINUTE + 1) == ["job00002", "job00001"]


def test_a_late_job_stands_where_it_would_without_an_sla():
    late, none = job(1, hard_sla_ms=NOW - 1), job(2)
    assert SLACK.rank(late, NOW).score == SLACK.rank(none, NOW).score
    assert SLACK.rank(late, NOW).valid_until_ms is None


def test_a_job_without_sla_is_passed_by_but_not_for_ever():
    patient = job(1, submitted_ms=NOW - PATIENCE // 2)
    coming = [job(number, hard_sla_ms=NOW + number * MINUTE) for number in range(2, 10)]
    assert order(patient, *coming)[0] == patient.job_id
    assert order(job(1, submitted_ms=NOW), *coming)[-1] == patient.job_id


def test_a_far_deadline_is_no_worse_than_none():
    far, none = job(2, hard_sla_ms=NOW + 100 * PATIENCE), job(1)
    assert SLACK.rank(far, NOW).score == SLACK.rank(none, NOW).score


def test_a_more_important_job_has_less_patience_and_a_critical_one_has_none():
    soon = job(1, hard_sla_ms=NOW + MINUTE)
    assert order(soon, job(2, priority=99)) == ["job00001", "job00002"]
    assert order(soon, job(2, priority=100)) == ["job00002", "job00001"]
    assert order(job(1, priority=100), job(2, priority=101)) == ["job00002", "job00001"]


def test_a_point_of_priority_is_worth_a_tenth_of_a_second():
    sooner = job(1, hard_sla_ms=NOW + HOUR, priority=50)
    assert order(sooner, job(2, hard_sla_ms=NOW + HOUR + SECOND, priority=60)) == ["job00002", "job00001"]
    assert order(sooner, job(2, hard_sla_ms=NOW + HOUR + SECOND, priority=59)) == ["job00001", "job00002"]


def test_moments_before_the_epoch_and_after_the_year_2100_stay_in_range():
    assert SLACK.rank(job(1, submitted_ms=0, priority=999), 0).score == 0
    assert SLACK.rank(job(1, submitted_ms=2**60), 0).score < 2**53

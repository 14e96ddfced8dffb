import pytest
from planning_jobs import HOUR, MINUTE, NOW, ids, job

from marie_celery.errors import ConfigError
from marie_celery.model.priority import PriorityMode
from marie_celery.planning import GlobalPriorityExecutionPlanner, LevelMode, PlanningSettings


def order(planner, *jobs, slots=None, active=(), recent=()):
    free = {"ocr": 1, "extract": 1} if slots is None else slots
    return ids(planner.plan(jobs, free, set(active), set(recent), now_ms=NOW))


def first(planner, better, worse, **view):
    """Whether the first of two jobs wins against its later id."""
    assert better.job_id > worse.job_id
    return order(planner, worse, better, **view)[0] == better.job_id


DEFAULT = GlobalPriorityExecutionPlanner()
CLASSIC = GlobalPriorityExecutionPlanner.classic()


def test_a_free_executor_beats_everything():
    blocked = job(1, executor="extract", level=9, priority=999, run_id="old")
    assert first(DEFAULT, job(2), blocked, slots={"ocr": 1}, active={"old"})


def test_then_a_run_that_is_active_already():
    assert first(DEFAULT, job(2, run_id="old"), job(1, level=9, priority=999), active={"old"})


def test_then_the_deeper_job():
    assert first(DEFAULT, job(2, level=1), job(1, level=0, priority=999))


def test_then_the_more_urgent_one():
    assert first(DEFAULT, job(2, hard_sla_ms=NOW - 1), job(1, priority=999))
    assert first(
        DEFAULT, job(2, priority=51), job(1, priority=50, executor="extract"), slots={"ocr": 1, "extract": 9}
    )


def test_then_the_executor_with_more_room():
    slots = {"ocr": 2, "extract": 1}
    assert first(DEFAULT, job(2), job(1, executor="extract", estimated_runtime=1), slots=slots)


def test_then_the_shorter_one_and_unknown_runtimes_last():
    recent = {"run1"}
    assert first(DEFAULT, job(2, estimated_runtime=5), job(1, estimated_runtime=6), recent=recent)
    assert first(DEFAULT, job(2, estimated_runtime=1e12), job(1, estimated_runtime=None), recent=recent)


def test_then_the_run_that_has_just_become_active():
    assert first(DEFAULT, job(2), job(1), recent={"run2"})


def test_and_last_the_order_of_submission():
    assert order(DEFAULT, job(2), job(3), job(1)) == ["job00001", "job00002", "job00003"]


def test_the_classic_order_puts_depth_before_active_runs_and_does_not_look_at_blocked():
    assert first(CLASSIC, job(2, level=1), job(1, run_id="old"), active={"old"})
    assert first(CLASSIC, job(2, level=1), job(1, executor="extract"), slots={"extract": 1})
    assert first(
        CLASSIC,
        job(2, executor="extract"),
        job(1, run_id="old"),
        slots={"ocr": 1, "extract": 2},
        active={"old"},
    )
    assert first(CLASSIC, job(2, run_id="old"), job(1, estimated_runtime=1), active={"old"})


def test_only_the_default_order_needs_a_share_for_new_runs():
    assert DEFAULT.prefers_active_dags
    assert not CLASSIC.prefers_active_dags


def test_a_rank_knows_from_the_job_whether_its_run_is_active():
    new, old = job(1, level=9), job(2, run_activated_ms=NOW - HOUR)
    assert DEFAULT.rank(old, NOW).score < DEFAULT.rank(new, NOW).score


def test_the_burst_ends_after_its_window():
    planner = GlobalPriorityExecutionPlanner(("burst",))
    fresh = job(1, run_activated_ms=NOW - 1_000)
    assert planner.rank(fresh, NOW) == (0, NOW + 9_000)
    assert planner.rank(fresh, NOW + 8_999) == (0, NOW + 9_000)
    assert planner.rank(fresh, NOW + 9_000) == (1, None)


def test_a_priority_counts_with_its_age():
    old = job(2, priority=20, ready_ms=NOW - 25 * MINUTE)
    assert first(DEFAULT, old, job(1, priority=69))
    assert not first(DEFAULT, old, job(1, priority=70))


def test_the_mode_says_whether_sla_or_user_decides():
    late, wanted = job(2, hard_sla_ms=NOW - 1, priority=0), job(1, priority=80)
    assert first(DEFAULT, late, wanted)
    user_first = PlanningSettings(priority_mode=PriorityMode.USER_FIRST)
    assert not first(GlobalPriorityExecutionPlanner(settings=user_first), late, wanted)


def test_the_level_can_be_the_longest_remaining_path():
    by_path = GlobalPriorityExecutionPlanner(settings=PlanningSettings(level_mode=LevelMode.CRITICAL_PATH))
    shallow, deep = job(2, level=0, remaining_path=60.0), job(1, level=7, remaining_path=59.0)
    assert first(by_path, shallow, deep)
    assert not first(DEFAULT, shallow, deep)


def test_a_path_that_is_unknown_counts_as_the_longest():
    by_path = GlobalPriorityExecutionPlanner(settings=PlanningSettings(level_mode=LevelMode.CRITICAL_PATH))
    assert first(by_path, job(2), job(1, remaining_path=1e8))
    assert first(by_path, job(2, estimated_runtime=2), job(1, estimated_runtime=1))


def test_an_operator_can_compose_an_order():
    shortest_of_the_urgent = GlobalPriorityExecutionPlanner(("priority", "estimated_runtime"))
    jobs = job(1, estimated_runtime=9), job(2, estimated_runtime=1), job(3, priority=90, level=0)
    assert order(shortest_of_the_urgent, *jobs) == ["job00003", "job00002", "job00001"]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (("priority", "colour"), "there is no sort key 'colour', only blocked,"),
        (("level", "level"), "the sort key 'level' is given twice"),
        (("fifo", "level"), "'fifo' leaves no ties"),
        (("latest_start", "level"), "latest_start, level need 59 bits, a rank has 53"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused(keys, message):
    with pytest.raises(ConfigError, match=message):
        GlobalPriorityExecutionPlanner(keys)


def test_control_jobs_need_no_slot():
    control = job(1, executor="control", needs_slot=False)
    assert order(DEFAULT, job(2, level=5), control, slots={}) == ["job00001", "job00002"]
    assert DEFAULT.plan([control, job(2)], {}, set(), exclude_blocked=True) == [control]


def test_without_a_clock_the_last_job_to_become_ready_tells_the_time():
    earlier = NOW - 50 * MINUTE
    late = job(2, ready_ms=earlier, hard_sla_ms=NOW - 1)
    on_time, ready_now = job(1, ready_ms=earlier, hard_sla_ms=NOW + 1), job(3, ready_ms=NOW)
    assert ids(DEFAULT.plan([on_time, late], {"ocr": 1}, set()))[0] == on_time.job_id
    assert ids(DEFAULT.plan([on_time, late, ready_now], {"ocr": 1}, set()))[0] == late.job_id


@pytest.mark.parametrize("fields", [{"priority": 1000}, {"priority": -1}, {"level": -1}])
def test_a_job_outside_the_ranges_cannot_be_made(fields):
    with pytest.raises(ConfigError, match="job job00001 has the"):
        job(1, **fields)

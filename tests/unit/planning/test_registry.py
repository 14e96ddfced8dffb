import sys
from types import ModuleType

import pytest
from planning_jobs import NOW, ids, job

from marie_celery.errors import ConfigError
from marie_celery.model.priority import PriorityMode
from marie_celery.planning import (
    PLANNERS,
    ExecutionPlanner,
    GlobalPriorityExecutionPlanner,
    HRRNExecutionPlanner,
    KeyedPlanner,
    PlanningSettings,
    Rank,
    SJFSExecutionPlanner,
    SlackExecutionPlanner,
    planner,
)


class OnlyPlans:
    """As short as a planner can be: the newest job first, sorted in place."""

    def plan(self, jobs, slots, active_dags, recently_activated_dags=frozenset()):
        jobs.sort(key=lambda job: job.job_id, reverse=True)
        return jobs


class TakesEverything:
    def plan(self, jobs, slots, active_dags, **more):
        self.more = more
        return tuple(jobs)

    def rank(self, job, now_ms):
        return Rank(42.0, now_ms + 1)


class WithSettings(KeyedPlanner):
    def __init__(self, settings):
        super().__init__(("priority",), settings)


class NoPlanner:
    pass


@pytest.fixture
def mine(monkeypatch):
    module = ModuleType("my_planners")
    for each in (OnlyPlans, TakesEverything, WithSettings, NoPlanner):
        setattr(module, each.__name__, each)
    module.ready_made = TakesEverything()
    monkeypatch.setitem(sys.modules, "my_planners", module)
    return module


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("global", GlobalPriorityExecutionPlanner),
        ("classic", GlobalPriorityExecutionPlanner),
        ("hrrn", HRRNExecutionPlanner),
        ("sjfs", SJFSExecutionPlanner),
        ("slack", SlackExecutionPlanner),
    ],
)
def test_a_name_finds_its_planner(name, kind):
    assert type(planner(name)) is kind


@pytest.mark.parametrize("name", PLANNERS)
def test_every_planner_gets_the_settings(name):
    settings = PlanningSettings(priority_mode=PriorityMode.MAX)
    assert planner(name, settings).settings is settings


@pytest.mark.parametrize("row", ["level, priority ,fifo", "level,priority"])
def test_a_row_of_sort_keys_is_a_planner(row):
    assert [key.name for key in planner(row).keys] == ["level", "priority"]


def test_one_sort_key_is_a_row_too():
    assert [key.name for key in planner("estimated_runtime").keys] == ["estimated_runtime"]


@pytest.mark.parametrize("path", ["my_planners:OnlyPlans", "my_planners.OnlyPlans"])
def test_a_class_with_nothing_but_plan_works(mine, path):
    chosen = planner(path)
    jobs = [job(1), job(2), job(3)]
    planned = chosen.plan(jobs, {"ocr": 1}, set(), exclude_blocked=False, now_ms=NOW)
    assert ids(planned) == ["job00003", "job00002", "job00001"]
    assert ids(jobs) == ["job00001", "job00002", "job00003"]
    assert isinstance(chosen, ExecutionPlanner)


def test_a_class_that_cannot_rank_is_ranked_by_the_standard_planner(mine):
    chosen = planner("my_planners:OnlyPlans")
    assert chosen.only_plans
    assert chosen.rank(job(1), NOW) == GlobalPriorityExecutionPlanner().rank(job(1), NOW)


def test_blocked_jobs_are_kept_from_a_class_that_does_not_know_them(mine):
    planned = planner("my_planners:OnlyPlans").plan(
        [job(1), job(2, executor="full")], {"ocr": 1}, set(), exclude_blocked=True
    )
    assert ids(planned) == ["job00001"]


def test_a_class_gets_the_arguments_that_it_takes_and_ranks_if_it_can(mine):
    chosen = planner("my_planners:TakesEverything")
    assert chosen.plan([job(1)], {}, set(), {"run1"}, now_ms=NOW) == [job(1)]
    assert chosen.planner.more == {
        "recently_activated_dags": {"run1"},
        "exclude_blocked": False,
        "now_ms": NOW,
    }
    assert chosen.rank(job(1), NOW) == (42.0, NOW + 1)
    assert not chosen.only_plans


def test_an_instance_can_be_named_as_well(mine):
    assert planner("my_planners:ready_made").planner is mine.ready_made


def test_a_class_that_wants_the_settings_gets_them(mine):
    settings = PlanningSettings()
    assert planner("my_planners:WithSettings", settings).settings is settings


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("quickest", "there is no planner 'quickest', only global, classic,"),
        ("level, colour", "there is no sort key 'colour'"),
        ("no_such_module:Planner", "'no_such_module:Planner' cannot be imported"),
        ("my_planners:Missing", "'my_planners:Missing' cannot be imported"),
        (":Planner", "':Planner' cannot be imported"),
        ("my_planners:NoPlanner", "it has no method 'plan'"),
    ],
)
def test_a_planner_that_cannot_be_had_is_refused_in_one_line(mine, name, message):
    with pytest.raises(ConfigError, match=message) as refused:
        planner(name)
    assert "\n" not in str(refused.value)

from dataclasses import replace

import pytest

from marie_celery.errors import ConfigError
from marie_celery.planning import PLANNERS, planner
from marie_celery.planning.foreign import ForeignPlanner
from marie_celery.simulation import SCENARIOS, Workload, WorkloadJob, WorkloadRun, generate
from marie_celery.simulation.engine import Simulator

SECOND = 1_000
START = 1_700_000_000_000


def one_slot(*runs):
    return Workload("small", {"ocr": 1}, runs)


def run_of(*jobs, after=0, **fields):
    return WorkloadRun(START + after * SECOND, jobs, **fields)


def read(seconds, *children, task="read", executor="ocr"):
    return WorkloadJob(task, executor, seconds * SECOND, children)


def starts(workload, name="fifo"):
    trace = Simulator(workload, planner(name)).run()
    return [[(job.started_ms - START) // SECOND for job in jobs] for jobs in trace.jobs]


def test_a_job_starts_when_it_arrives_if_there_is_room():
    assert starts(one_slot(run_of(read(5), after=3))) == [[3]]


def test_with_one_slot_jobs_run_one_after_the_other():
    assert starts(one_slot(run_of(read(5)), run_of(read(5)), run_of(read(5), after=20))) == [[0], [5], [20]]


def test_executors_do_not_wait_for_each_other():
    workload = Workload(
        "two", {"ocr": 1, "extract": 1}, (run_of(read(5), read(5, executor="extract"), read(1)),)
    )
    assert starts(workload) == [[0, 0, 5]]


def test_a_child_waits_for_all_of_its_parents():
    diamond = run_of(read(1, 1, 2), read(2, 3), read(9, 3), read(1))
    workload = Workload("wide", {"ocr": 4}, (diamond,))
    assert starts(workload) == [[0, 1, 1, 10]]


def test_the_planner_decides_who_goes_next():
    first = run_of(read(10))
    rivals = run_of(read(1), after=1, priority=20), run_of(read(1), after=2, priority=80)
    assert starts(one_slot(first, *rivals), "fifo") == [[0], [10], [11]]
    assert starts(one_slot(first, *rivals), "static") == [[0], [11], [10]]


def test_deadlines_are_looked_at_when_a_slot_becomes_free_not_when_the_job_arrived():
    blocker = run_of(read(60))
    due = START + 30 * SECOND
    lost = run_of(read(5), after=1, hard_sla_ms=due)
    saved = run_of(read(5), after=2, hard_sla_ms=due + 3600 * SECOND)
    assert starts(one_slot(blocker, lost, saved), "slack") == [[0], [65], [60]]


def test_estimates_are_learned_from_what_has_finished():
    unknown = run_of(read(9, task="long")), run_of(read(1, task="short"), after=1)
    blocker = run_of(read(5, task="other"), after=11)
    known = run_of(read(9, task="long"), after=12), run_of(read(1, task="short"), after=13)
    assert starts(one_slot(*unknown, blocker, *known), "sjfs") == [[0], [9], [11], [17], [16]]


def test_new_runs_get_their_share_while_active_ones_wait():
    wide = run_of(*[read(1)] * 20)
    newcomers = [run_of(read(1)) for _ in range(20)]
    ready_at_once = starts(one_slot(wide, *newcomers), "global")
    newcomers_started = sorted(second for jobs in ready_at_once[1:] for second in jobs)
    assert sum(second < 21 for second in newcomers_started) == 6


def test_a_planner_that_only_plans_can_be_simulated():
    class Newest:
        def plan(self, jobs, slots, active_dags, recently_activated_dags=frozenset()):
            return sorted(jobs, key=lambda job: job.job_id, reverse=True)

    workload = one_slot(run_of(read(5)), run_of(read(1), after=1), run_of(read(1), after=2))
    trace = Simulator(workload, ForeignPlanner(Newest(), planner("fifo"))).run()
    assert [jobs[0].started_ms - START for jobs in trace.jobs] == [0, 6_000, 5_000]


def test_a_planner_that_chooses_nothing_is_an_error_and_not_a_hang():
    class Idle:
        def plan(self, jobs, slots, active_dags):
            return []

    with pytest.raises(ConfigError, match="chose none of 1 ready jobs"):
        Simulator(one_slot(run_of(read(5))), ForeignPlanner(Idle(), planner("fifo"))).run()


def test_an_empty_workload_ends_at_once():
    assert Simulator(one_slot(), planner("fifo")).run().jobs == []


@pytest.mark.parametrize("name", PLANNERS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_under_every_planner_each_job_runs_once_in_order_and_within_the_slots(name, scenario):
    workload = generate(replace(SCENARIOS[scenario], jobs=400), seed=5)
    trace = Simulator(workload, planner(name)).run()
    changes = {executor: [] for executor in workload.slots}
    for run, jobs, finished_ms in zip(workload.runs, trace.jobs, trace.run_finished_ms, strict=True):
        assert finished_ms == max(job.finished_ms for job in jobs)
        for spec, job in zip(run.jobs, jobs, strict=True):
            assert run.arrival_ms <= job.ready_ms <= job.started_ms
            assert job.finished_ms == job.started_ms + spec.runtime_ms
            assert all(jobs[child].ready_ms >= job.finished_ms for child in spec.children)
            changes[spec.executor] += [(job.started_ms, 1), (job.finished_ms, -1)]
    for executor, moments in changes.items():
        used = 0
        for _, change in sorted(moments):
            used += change
            assert used <= workload.slots[executor]

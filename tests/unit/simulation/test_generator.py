from dataclasses import replace
from itertools import pairwise
from random import Random
from statistics import mean, pstdev

import pytest

from marie_celery.simulation import SCENARIOS, WorkloadSpec, generate
from marie_celery.simulation.arrivals import ARRIVALS, arrival_times
from marie_celery.simulation.shapes import SHAPES

HOUR = 3_600_000


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_seed_makes_the_same_workload_every_time_and_another_seed_another(scenario):
    spec = replace(SCENARIOS[scenario], jobs=300)
    assert generate(spec, 1) == generate(spec, 1)
    assert generate(spec, 1) != generate(spec, 2)


@pytest.mark.parametrize("load", [0.5, 0.8, 1.2])
def test_the_work_that_arrives_is_the_load_of_the_busiest_executor(load):
    workload = generate(WorkloadSpec(name="any", jobs=2_000, load=load), 1)
    span_ms = workload.runs[-1].arrival_ms - 1_700_000_000_000
    loads = {name: work / workload.slots[name] / span_ms for name, work in workload.work_ms().items()}
    assert max(loads.values()) == pytest.approx(load, rel=0.01)


def test_there_are_about_as_many_jobs_as_asked_for():
    assert 1_000 <= generate(WorkloadSpec(name="any", jobs=1_000), 1).job_count <= 1_062


@pytest.mark.parametrize("kind", ARRIVALS)
def test_arrivals_fill_the_span_in_order(kind):
    moments = arrival_times(kind, 500, HOUR, Random(1))
    assert len(moments) == 500
    assert moments == sorted(moments)
    assert moments[0] >= 0
    assert moments[-1] == pytest.approx(HOUR, abs=1)


def variation(kind):
    gaps = [later - sooner for sooner, later in pairwise(arrival_times(kind, 5_000, HOUR, Random(1)))]
    return pstdev(gaps) / mean(gaps)


def test_bursts_and_heavy_tails_are_less_regular_than_independent_arrivals():
    assert variation("poisson") == pytest.approx(1.0, abs=0.1)
    assert variation("bursty") > 1.3
    assert variation("heavy_tail") > 1.3


@pytest.mark.parametrize("shape", SHAPES)
def test_children_stand_behind_their_parents(shape):
    for seed in range(50):
        nodes = SHAPES[shape](Random(seed))
        for position, (_, children) in enumerate(nodes):
            assert all(position < child < len(nodes) for child in children)


def test_every_promise_can_be_kept():
    for run in generate(replace(SCENARIOS["heavy-tail"], jobs=2_000), 1).runs:
        for sla_ms in (run.soft_sla_ms, run.hard_sla_ms):
            assert sla_ms is None or sla_ms >= run.arrival_ms + 2 * run.shortest_ms()
        if run.soft_sla_ms is not None and run.hard_sla_ms is not None:
            assert run.soft_sla_ms <= run.hard_sla_ms


def test_levels_are_depths():
    run = generate(WorkloadSpec(name="any", jobs=1, shapes={"diamond": 1.0}), 1).runs[0]
    assert run.levels() == [0, 1, 1, 2]

"""The three workloads that planners are compared on: a quiet day, a bad one, and a lumpy one."""

from __future__ import annotations

from marie_celery.simulation.generator import WorkloadSpec

SCENARIOS = {
    spec.name: spec
    for spec in (
        WorkloadSpec(name="steady", load=0.8),
        WorkloadSpec(name="bursty", load=1.2, arrivals="bursty"),
        WorkloadSpec(name="heavy-tail", load=0.9, arrivals="heavy_tail", runtime_tail=1.5),
    )
}

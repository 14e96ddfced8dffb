"""What would happen: workloads in virtual time, under the same planners that run the real ones.

    workload = generate(SCENARIOS["bursty"], seed=1)
    comparison = compare(workload, ["fifo", "global", "slack"])
    rich.print(render_table(comparison))

Nothing here reads a clock or a server; the same seed gives the same figures.
"""

from marie_celery.simulation.chart import render_chart
from marie_celery.simulation.generator import SlaClass, WorkloadSpec, generate
from marie_celery.simulation.planners import resolve
from marie_celery.simulation.recorded import from_records, from_text, to_records, to_text
from marie_celery.simulation.report import Comparison, PlannerResult, compare, simulate
from marie_celery.simulation.scenarios import SCENARIOS
from marie_celery.simulation.table import render_table
from marie_celery.simulation.workload import Workload, WorkloadJob, WorkloadRun

__all__ = [
    "SCENARIOS",
    "Comparison",
    "PlannerResult",
    "SlaClass",
    "Workload",
    "WorkloadJob",
    "WorkloadRun",
    "WorkloadSpec",
    "compare",
    "from_records",
    "from_text",
    "generate",
    "render_chart",
    "render_table",
    "resolve",
    "simulate",
    "to_records",
    "to_text",
]

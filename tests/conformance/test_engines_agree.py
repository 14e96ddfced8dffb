"""Whatever a dag looks like, it ends the same way here and on workers, with any number of slots."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marie_celery import LocalRun, Run, RunFailed
from marie_celery.store.keys import number_of
from marie_celery.testing import ClusterBench
from tests.conformance.conftest import LOCALLY
from tests.conformance.drawing import plans

EXAMPLES = 150


def picture(run: Run) -> dict[str, Any]:
    """All that can be told of a run, but for ids and times."""
    jobs = {
        job.name: (job.state.value, job.reason, job.attempt, job.control, (job.error or {}).get("message"))
        for job in run.jobs()
    }
    return {"state": run.status().state.value, "jobs": jobs, "results": results(run), "outcome": outcome(run)}


def results(run: Run) -> dict[str, Any]:
    if isinstance(run, LocalRun):
        found = {job.name: job.result for job in run.jobs()}
    else:
        texts = run.marie.reader.results(run.id, range(run.status().jobs))
        found = {job.name: json.loads(texts[number_of(job.job_id)] or "null") for job in run.jobs()}
    return {name: value for name, value in found.items() if value is not None}


def outcome(run: Run) -> Any:
    try:
        return run.result()
    except RunFailed as failed:
        return failed.state, failed.errors


def options(ends: bool, dags: ModuleType) -> dict[str, Any]:
    return {"on_failure": dags.clean_up_quietly, "finally_": dags.clean_up_quietly} if ends else {}


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plan=plans(), ends=st.booleans())
def test_every_engine_ends_a_random_dag_in_the_same_way(
    marie_cluster: ClusterBench, dags: ModuleType, plan: list[dict[str, Any]], ends: bool
) -> None:
    drawn = dags.drawn.options(**options(ends, dags))
    expected = picture(marie_cluster.run(drawn, plan))
    for engine, run in LOCALLY.items():
        assert picture(run(drawn, plan)) == expected, engine

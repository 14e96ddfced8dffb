"""Runs and schedulers as JSON carries them."""

from __future__ import annotations

import re
from dataclasses import asdict
from itertools import islice
from typing import Any

from marie_celery.capacity import clock_ms
from marie_celery.errors import UnknownRun
from marie_celery.store.reading import Reader
from marie_celery.store.records import RunView
from marie_celery.store.store import Store

RUN_ID = re.compile(r"[0-9a-f]{13}")
BY = "web"
"""Who has given an order that came this way."""


def ok(result: Any) -> dict[str, Any]:
    return {"status": "OK", "result": result}


def run_as_json(run: RunView) -> dict[str, Any]:
    fields = asdict(run)
    del fields["output"]  # refers to results, which are not shown here
    return {**fields, "done": run.done}


def run_with_jobs(reader: Reader, run_id: str, limit: int) -> dict[str, Any]:
    if not RUN_ID.fullmatch(run_id):  # the name of some other key, maybe
        raise UnknownRun(run_id)
    run = reader.run(run_id)
    jobs = [asdict(job) for job in islice(reader.jobs(run_id), limit)]
    return {**run_as_json(run), "job_list": jobs, "more_jobs": max(0, run.jobs - len(jobs))}


def schedulers(store: Store) -> list[dict[str, Any]]:
    """Those that have said good-bye are not here; those that fell silent are, until another one clears them away."""
    views = store.schedulers()
    now_ms = clock_ms(store, store.client.time())
    return [
        {
            "id": view.id,
            "host": view.fields.get("host"),
            "pid": view.fields.get("pid"),
            "alive": now_ms - int(view.fields["seen_at"]) <= store.settings.lease_ttl_seconds * 1000,
            "seen_seconds_ago": max(0, now_ms - int(view.fields["seen_at"])) / 1000,
            "exclusive": view.fields.get("exclusive") == "1",
            "graph": view.graph,
        }
        for view in views
    ]

"""Prometheus: the cluster as it is at the moment of the scrape. Nothing is counted in this process."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from marie_celery.planning.tenants import TenantShare
from marie_celery.resources.stock import Stock
from marie_celery.store.store import Store
from marie_celery.web.survey import ExecutorSurvey, survey
from marie_celery.web.views import schedulers

CONTENT_TYPE = CONTENT_TYPE_LATEST

T = TypeVar("T")

COUNTERS = {
    "fencedWrites": "Late reports of attempts that were overtaken",
    "starvationPromotions": "Raises of waiting jobs by their age",
    "runSoftSlaMissed": "Runs that missed their soft SLA",
    "runHardSlaMissed": "Runs that missed their hard SLA",
    "jobSoftSlaMissed": "Jobs that missed their soft SLA",
    "jobHardSlaMissed": "Jobs that missed their hard SLA",
}
"""Those that are there from the beginning, so that an alert has something to compare with."""

GAUGES: dict[str, tuple[str, Callable[[ExecutorSurvey], float | None]]] = {
    "marie_slots_capacity": ("Slots", lambda each: each.status.view.capacity),
    "marie_slots_used": ("Slots in use", lambda each: each.status.used),
    "marie_slots_available": ("Free slots", lambda each: each.status.available),
    "marie_executor_paused": ("1 while an operator holds the executor back", lambda each: each.status.is_paused),
    "marie_executor_workers": ("Live workers", lambda each: len(each.status.view.workers)),
    "marie_jobs_ready": ("Ready jobs of runs that have begun", lambda each: each.ready),
    "marie_jobs_new": ("Ready jobs of runs that have not begun", lambda each: each.new),
    "marie_jobs_short": ("Ready jobs that wait for a resource", lambda each: each.short),
    "marie_backlog_seconds": ("Estimated seconds of work that is ready", lambda each: each.backlog.seconds),
    "marie_backlog_short_seconds": ("The part of it that waits for resources", lambda each: each.backlog_short.seconds),
    "marie_oldest_wait_seconds": ("The longest wait of a ready job", lambda each: each.backlog.oldest_seconds),
}


RESOURCE_GAUGES: dict[str, tuple[str, Callable[[Stock], float]]] = {
    "marie_resource_size": ("Units, items, burst, or limit under each key", lambda each: each.size),
    "marie_resource_used": ("In use; of a rate the tokens that are missing", lambda each: each.used),
    "marie_resource_holders": ("Jobs that have some of it", lambda each: each.holders),
    "marie_resource_waiting": ("Ready jobs that are short of it", lambda each: each.waiting),
}

TENANT_GAUGES: dict[str, tuple[str, Callable[[TenantShare], float]]] = {
    "marie_tenant_share": ("Part of the slot time while the same tenants have work", lambda each: each.share),
    "marie_tenant_lag_seconds": ("How far it is behind the one that had most", lambda each: each.lag_seconds),
    "marie_tenant_jobs_waiting": ("Jobs on offer", lambda each: each.waiting),
    "marie_tenant_jobs_at_work": ("Jobs that hold a slot", lambda each: each.at_work),
}


def exposition(store: Store) -> bytes:
    registry = CollectorRegistry()
    counters = store.client.hgetall(store.keys.counters)
    metrics = (
        *_gauges(GAUGES, ["executor"], [([each.status.view.name], each) for each in survey(store)]),
        *_gauges(RESOURCE_GAUGES, ["resource"], [([each.name], each) for each in store.stock()]),
        *_gauges(
            TENANT_GAUGES, ["executor", "tenant"], [([each.executor, each.tenant], each) for each in store.shares()]
        ),
        *_counters(counters),
        *_schedulers(schedulers(store)),
    )
    registry.register(_Scrape(metrics))
    return generate_latest(registry)


class _Scrape(Collector):
    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def _gauges(
    gauges: Mapping[str, tuple[str, Callable[[T], float | None]]],
    labels: Sequence[str],
    rows: Sequence[tuple[Sequence[str], T]],
) -> Iterator[Metric]:
    for name, (text, value_of) in gauges.items():
        gauge = GaugeMetricFamily(name, text, labels=labels)
        for values, each in rows:
            value = value_of(each)
            if value is not None:  # no estimate is not an estimate of nothing
                gauge.add_metric(values, float(value))
        yield gauge


def _counters(found: Mapping[str, str]) -> Iterator[Metric]:
    for name in sorted({*COUNTERS, *found}):
        text = COUNTERS.get(name, f"The counter {name}")
        yield CounterMetricFamily(f"marie_{_snake(name)}", text, value=int(found.get(name, 0)))


def _snake(name: str) -> str:
    """fencedWrites → fenced_writes"""
    words = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
    return re.sub(r"[^a-z0-9_]", "_", words)


def _schedulers(found: Sequence[Mapping[str, Any]]) -> Iterator[Metric]:
    alive = [each for each in found if each["alive"]]
    yield GaugeMetricFamily("marie_schedulers", "Live schedulers", value=len(alive))
    busy = CounterMetricFamily("marie_scheduler_busy_seconds", "Time at work", labels=["scheduler"])
    turns = CounterMetricFamily("marie_scheduler_turns", "Turns of a duty", labels=["scheduler", "node"])
    errors = CounterMetricFamily("marie_scheduler_errors", "Errors of a duty", labels=["scheduler", "node"])
    for scheduler in alive:
        graph = scheduler["graph"]
        busy.add_metric([scheduler["id"]], graph.get("busy_s", 0.0))
        for node, facts in graph.get("nodes", {}).items():
            turns.add_metric([scheduler["id"], node], facts["turns"])
            errors.add_metric([scheduler["id"], node], facts["errors"])
    yield from (busy, turns, errors)

"""Prometheus: the cluster as it is at the moment of the scrape. Nothing is counted in this process."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from marie_celery.store.store import Store
from marie_celery.web.survey import ExecutorSurvey, survey
from marie_celery.web.views import schedulers

CONTENT_TYPE = CONTENT_TYPE_LATEST

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


def exposition(store: Store) -> bytes:
    registry = CollectorRegistry()
    counters = store.client.hgetall(store.keys.counters)
    registry.register(_Scrape([*_executors(survey(store)), *_counters(counters), *_schedulers(schedulers(store))]))
    return generate_latest(registry)


class _Scrape(Collector):
    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def _executors(surveys: Sequence[ExecutorSurvey]) -> Iterator[Metric]:
    for name, (text, value_of) in GAUGES.items():
        gauge = GaugeMetricFamily(name, text, labels=["executor"])
        for each in surveys:
            value = value_of(each)
            if value is not None:  # no estimate is not an estimate of nothing
                gauge.add_metric([each.status.view.name], float(value))
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

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families

from marie_celery.store.store import Store
from tests.redis.redis_runs import EXECUTOR, NOW, begin, first_job, give_capacity, job, new_run, submit
from tests.redis.resource_kit import declare, needing, ready_jobs
from tests.unit.web.web_kit import ask

DOCS = Path(__file__).parents[3] / "docs"

Samples = dict[tuple[str, tuple[str, ...]], float]


def scraped(app: FastAPI) -> Samples:
    answer = ask(app, "/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, tuple(sorted(sample.labels.values()))): sample.value
        for family in text_string_to_metric_families(answer.body.decode())
        for sample in family.samples
    }


def test_every_executor_has_its_gauges(app: FastAPI, store: Store) -> None:
    give_capacity(store, slots=3)
    begin(store, first_job(store, new_run([job("a"), job("b", estimate=2_000)])))
    submit(store, new_run([job("c", estimate=4_000)]))
    store.now_ms = NOW + 1_500
    found = scraped(app)
    expected = {
        "marie_slots_capacity": 3,
        "marie_slots_used": 1,
        "marie_slots_available": 2,
        "marie_executor_paused": 0,
        "marie_executor_workers": 1,
        "marie_jobs_ready": 1,
        "marie_jobs_new": 1,
        "marie_jobs_short": 0,
        "marie_backlog_seconds": 6,
        "marie_backlog_short_seconds": 0,
        "marie_oldest_wait_seconds": 1.5,
    }
    assert {name: found[name, (EXECUTOR,)] for name in expected} == expected


def test_an_unknown_backlog_is_left_out(app: FastAPI, store: Store) -> None:
    first_job(store)
    assert ("marie_backlog_seconds", (EXECUTOR,)) not in scraped(app)


def test_resources_tell_size_use_and_who_is_short(app: FastAPI, store: Store) -> None:
    declare(store, "gpu", quantity=3)
    declare(store, "mails", kind="rate", rate=1, burst=4)
    first, *_ = ready_jobs(store, needing("a", gpu=2, mails=1), needing("b", gpu=2), needing("c", gpu=3))
    begin(store, first)
    found = scraped(app)
    gauges = ("marie_resource_size", "marie_resource_used", "marie_resource_holders", "marie_resource_waiting")
    assert [found[name, ("gpu",)] for name in gauges] == [3, 2, 1, 2]
    assert [found[name, ("mails",)] for name in gauges] == [4, 1, 1, 0]
    assert (found["marie_jobs_short", (EXECUTOR,)], found["marie_backlog_short_seconds", (EXECUTOR,)]) == (2, 2)


def test_tenants_tell_their_shares(app: FastAPI, store: Store) -> None:
    give_capacity(store)
    store.set_weight("acme", 3)
    begin(store, first_job(store, new_run([job("a", estimate=3_000, tenant="acme")])))
    submit(store, new_run([job("b", tenant="zeta")]))
    found = scraped(app)
    assert found["marie_tenant_share", ("acme", EXECUTOR)] == 0.75
    assert found["marie_tenant_lag_seconds", (EXECUTOR, "zeta")] == 1
    assert found["marie_tenant_jobs_waiting", (EXECUTOR, "zeta")] == 1
    assert found["marie_tenant_jobs_at_work", ("acme", EXECUTOR)] == 1


def test_known_counters_begin_at_nothing_and_new_ones_appear(app: FastAPI, store: Store) -> None:
    assert scraped(app)["marie_fenced_writes_total", ()] == 0
    store.client.hset(store.keys.counters, mapping={"fencedWrites": 2, "runHardSlaMissed": 1, "someThingNew": 5})
    found = scraped(app)
    assert found["marie_fenced_writes_total", ()] == 2
    assert found["marie_run_hard_sla_missed_total", ()] == 1
    assert found["marie_some_thing_new_total", ()] == 5


def test_schedulers_are_counted_while_they_live_with_turns_and_errors(app: FastAPI, store: Store) -> None:
    graph = '{"busy_s": 1.5, "nodes": {"planner": {"turns": 4, "errors": 1}}}'
    store.enlist("s1", {"host": "h", "graph": graph}, exclusive=False)
    found = scraped(app)
    assert found["marie_schedulers", ()] == 1
    assert found["marie_scheduler_turns_total", ("planner", "s1")] == 4
    assert found["marie_scheduler_errors_total", ("planner", "s1")] == 1
    assert found["marie_scheduler_busy_seconds_total", ("s1",)] == 1.5
    store.now_ms = NOW + 60_000
    found = scraped(app)
    assert found["marie_schedulers", ()] == 0
    assert ("marie_scheduler_turns_total", ("planner", "s1")) not in found


@pytest.mark.parametrize("page", ["scaling.md", "web.md"])
def test_the_documentation_names_only_what_there_is(app: FastAPI, store: Store, page: str) -> None:
    give_capacity(store)
    declare(store)
    begin(store, first_job(store, new_run([job("a", tenant="acme")])))
    store.enlist("s1", {"graph": '{"nodes": {"planner": {"turns": 4, "errors": 1}}}'}, exclusive=False)
    named = set(re.findall(r"marie_[a-z_]+[a-z]", (DOCS / page).read_text())) - {"marie_celery"}
    assert named <= {name for name, _ in scraped(app)}


def test_names_with_quotes_and_line_ends_break_nothing(app: FastAPI, store: Store) -> None:
    strange = 'a"b\\c\nd'
    give_capacity(store, slots=1, executor=strange)
    assert scraped(app)["marie_slots_capacity", (strange,)] == 1

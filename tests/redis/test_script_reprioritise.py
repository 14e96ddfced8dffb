"""reprioritise.lua: another priority or other SLAs for what has not ended."""

from __future__ import annotations

from typing import Any

import pytest

from marie_celery.errors import ConfigError, UnknownJob, UnknownRun
from marie_celery.model.sla import SlaTime
from marie_celery.store.keys import job_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    AGEING_STEP,
    EXECUTOR,
    NOW,
    WORKER,
    advance_to_the_end,
    changes,
    dag,
    first_job,
    give_capacity,
    job,
    job_field,
    new_run,
    rank,
    running,
    submit,
)

HOUR = 3_600_000


def at(ms: int) -> SlaTime:
    return SlaTime(ms, relative=False)


def test_a_run_and_all_its_jobs_get_another_priority_and_another_place(store: Store) -> None:
    run = submit(store, dag({"a": [], "b": ["a"]}))
    a, b = job_id(run, 0), job_id(run, 1)
    with changes(store) as changed:
        assert store.reprioritise(run, priority=90, by="ann")
    assert changed == {
        f"run:{run}": {"priority": "90"},
        f"job:{a}": {"priority": "90"},
        f"job:{b}": {"priority": "90"},
        f"new:{EXECUTOR}": {a: rank(urgency=90, new=True)},
        "events": [("run", run, "created", "reprioritised", "priority=90")],
        "wake": ["1"],
    }


def test_a_job_alone_gets_another_priority(store: Store) -> None:
    run = submit(store, new_run([job("a"), job("b")]))
    a, b = job_id(run, 0), job_id(run, 1)
    with changes(store) as changed:
        assert store.reprioritise(b, priority=100)
    assert changed == {
        f"job:{b}": {"priority": "100"},
        f"new:{EXECUTOR}": {b: rank(urgency=100, new=True)},
        "rerank": {b: None},
        "events": [("job", b, "ready", "reprioritised", "priority=100")],
        "wake": ["1"],
    }
    assert store.client.zrange(store.keys.new(EXECUTOR), 0, -1) == [b, a]


def test_a_job_that_waits_for_its_parents_has_its_priority_when_it_is_ready(store: Store) -> None:
    run = submit(store, dag({"a": [], "b": ["a"]}))
    b = job_id(run, 1)
    with changes(store) as changed:
        assert store.reprioritise(b, priority=70)
    assert changed == {
        f"job:{b}": {"priority": "70"},
        "events": [("job", b, "created", "reprioritised", "priority=70")],
        "wake": ["1"],
    }


def test_a_run_gets_slas_and_is_watched(store: Store) -> None:
    run = submit(store)
    name = job_id(run, 0)
    soft, hard = NOW + HOUR, NOW + 2 * HOUR
    with changes(store) as changed:
        assert store.reprioritise(run, soft=SlaTime(HOUR, relative=True), hard=at(hard))
    detail = f"soft={soft},hard={hard}"
    assert changed == {
        f"run:{run}": {"soft": str(soft), "hard": str(hard)},
        f"job:{name}": {"soft": str(soft), "hard": str(hard)},
        f"new:{EXECUTOR}": {name: rank(urgency=496_050, new=True)},
        "sla": {run: soft},
        "events": [("run", run, "created", "reprioritised", detail)],
        "wake": ["1"],
    }
    assert store.client.zscore(store.keys.rerank, name) == NOW + AGEING_STEP


def test_a_job_gets_slas_of_its_own(store: Store) -> None:
    name = first_job(store, new_run([job()], soft=NOW + 2 * HOUR))
    with changes(store) as changed:
        assert store.reprioritise(name, soft=at(NOW + HOUR))
    assert changed == {
        f"job:{name}": {"soft": str(NOW + HOUR), "sla": "1"},
        f"new:{EXECUTOR}": {name: rank(urgency=496_050, new=True)},
        "sla": {name: NOW + HOUR},
        "events": [("job", name, "ready", "reprioritised", f"soft={NOW + HOUR},hard=")],
        "wake": ["1"],
    }


def test_slas_can_be_taken_away(store: Store) -> None:
    run = submit(store, new_run([job()], soft=NOW + HOUR, hard=NOW + 2 * HOUR))
    name = job_id(run, 0)
    assert store.reprioritise(run, soft="none")
    assert store.client.zscore(store.keys.sla, run) == NOW + 2 * HOUR
    assert store.client.hmget(store.keys.job(name), "soft", "hard") == [None, str(NOW + 2 * HOUR)]
    with changes(store) as changed:
        assert store.reprioritise(run, hard="none")
    assert changed["sla"] == {run: None}
    assert changed[f"run:{run}"] == changed[f"job:{name}"] == {"hard": None}
    assert changed[f"new:{EXECUTOR}"] == {name: rank(new=True)}


def test_slas_of_its_own_are_stronger_than_those_of_its_run(store: Store) -> None:
    own = NOW + 5 * HOUR
    run = submit(store, new_run([job("plain"), job("own", sla=1, soft=own)], soft=NOW + HOUR))
    assert store.reprioritise(run, priority=10, soft=at(NOW + 2 * HOUR))
    plain, stronger = job_id(run, 0), job_id(run, 1)
    assert store.client.hmget(store.keys.job(plain), "priority", "soft") == ["10", str(NOW + 2 * HOUR)]
    assert store.client.hmget(store.keys.job(stronger), "priority", "soft") == ["10", str(own)]
    assert store.client.zscore(store.keys.sla, stronger) == own


@pytest.mark.parametrize(
    "slas",
    [
        {"soft": at(NOW + 3 * HOUR)},
        {"hard": at(NOW + HOUR - 1)},
        {"soft": at(NOW + 2), "hard": at(NOW + 1)},
        {"hard": SlaTime(1, relative=True)},
    ],
)
def test_a_hard_sla_before_the_soft_one_is_refused(store: Store, slas: dict[str, Any]) -> None:
    run = submit(store, new_run([job()], soft=NOW + HOUR, hard=NOW + 2 * HOUR))
    with changes(store) as changed:
        for id in (run, job_id(run, 0)):
            with pytest.raises(ConfigError, match="hard_sla is before soft_sla"):
                store.reprioritise(id, **slas)
    assert changed == {}


def test_without_any_change_nothing_happens(store: Store) -> None:
    run = submit(store, new_run([job()], soft=NOW + HOUR))
    with changes(store) as changed:
        assert store.reprioritise(run)
        assert store.reprioritise(job_id(run, 0))
    assert changed == {}


def test_what_has_ended_stays_as_it_is(store: Store) -> None:
    name, token, _ = running(store)
    store.finish(name, token, WORKER, "1")
    with changes(store) as changed:
        assert not store.reprioritise(name, priority=1)
        assert not store.reprioritise(name[:13], priority=1)
    assert changed == {}


def test_an_active_job_keeps_running_and_has_its_priority_for_the_next_attempt(store: Store) -> None:
    name, _, _ = running(store)
    with changes(store) as changed:
        assert store.reprioritise(name[:13], priority=77)
    assert changed == {
        f"run:{name[:13]}": {"priority": "77"},
        f"job:{name}": {"priority": "77"},
        "events": [("run", name[:13], "active", "reprioritised", "priority=77")],
        "wake": ["1"],
    }


def test_what_nobody_knows_cannot_be_changed(store: Store) -> None:
    with changes(store) as changed:
        with pytest.raises(UnknownRun):
            store.reprioritise("0000000000000", priority=1)
        with pytest.raises(UnknownJob):
            store.reprioritise("0000000000000-000000", priority=1)
    assert changed == {}


def test_a_wide_run_is_changed_by_advance_and_the_last_order_holds(store: Store) -> None:
    run = submit(store, new_run([job(f"j{number}") for number in range(2_100)]))
    advance_to_the_end(store)
    store.reprioritise(run, priority=90)
    assert store.client.lrange(store.keys.advance, 0, -1) == [f"fields {run} priority=90 1000"]
    assert job_field(store, job_id(run, 999), "priority") == "90"
    assert job_field(store, job_id(run, 1_000), "priority") == "50"
    store.reprioritise(run, priority=10)
    advance_to_the_end(store)
    ranks = set(dict(store.client.zrange(store.keys.new(EXECUTOR), 0, -1, withscores=True)).values())
    assert ranks == {rank(urgency=10, new=True)}


def test_a_job_of_a_run_that_has_begun_stays_with_those(store: Store) -> None:
    name, _, _ = running(store, new_run([job("a"), job("b")]))
    other = job_id(name[:13], 1)
    give_capacity(store)
    with changes(store) as changed:
        assert store.reprioritise(other, priority=60)
    assert changed[f"ready:{EXECUTOR}"] == {other: rank(urgency=60, burst=True)}

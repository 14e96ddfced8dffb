"""watch.lua: missed SLAs are noted once, and what they mean follows."""

from __future__ import annotations

import json
from collections import Counter

from marie_celery.model.sla import SlaTime
from marie_celery.store.keys import job_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    NOW,
    advance_to_the_end,
    changes,
    complete,
    dag,
    dump,
    first_job,
    give_capacity,
    job,
    job_field,
    new_run,
    run_state,
    states,
    submit,
    watch_to_the_end,
)

SOFT, HARD = NOW + 1_000, NOW + 5_000


def sla_events(store: Store) -> Counter[tuple[str, str]]:
    """(run or job, event) → how often it was told."""
    return Counter((id, to) for _, id, _, to, _ in dump(store)["events"] if to.startswith("sla."))


def test_with_no_sla_there_is_nothing_to_do(store: Store) -> None:
    first_job(store)
    with changes(store) as changed:
        assert store.watch() == (0, None)
    assert changed == {}


def test_at_its_very_moment_an_sla_is_not_missed(store: Store) -> None:
    submit(store, new_run([job()], soft=SOFT))
    store.now_ms = SOFT
    with changes(store) as changed:
        assert store.watch() == (0, 0.001)
    assert changed == {}


def test_a_missed_soft_sla_is_told_for_the_run_and_its_jobs(store: Store) -> None:
    run = submit(store, dag({"a": [], "b": ["a"]}, soft=SOFT, hard=HARD))
    a, b = job_id(run, 0), job_id(run, 1)
    store.now_ms = late = SOFT + 1
    with changes(store) as changed:
        assert store.watch() == (1, (HARD + 1 - late) / 1000)
    alert = json.loads(changed.pop("alerts")[0])
    assert alert == {"kind": "sla.soft_missed", "run": run, "at": late}
    assert changed == {
        f"run:{run}": {"soft_missed": str(late)},
        "sla": {run: HARD},
        "counters": {"runSoftSlaMissed": "1"},
        "advance": [f"missed {run} soft 0"],
        "events": [("run", run, "created", "sla.soft_missed", "")],
        "wake": ["1"],
    }
    with changes(store) as changed:
        assert store.advance() == 0
    assert changed == {
        f"job:{a}": {"soft_missed": str(late)},
        f"job:{b}": {"soft_missed": str(late)},
        "counters": {"jobSoftSlaMissed": "2"},
        "advance": None,
        "events": [("job", a, "ready", "sla.soft_missed", ""), ("job", b, "created", "sla.soft_missed", "")],
    }


def test_a_missed_hard_sla_escalates_and_the_run_goes_on(store: Store) -> None:
    give_capacity(store)
    run = submit(store, new_run([job("a"), job("b")], hard=HARD))
    store.now_ms = HARD + 1
    assert store.watch() == (1, None)
    advance_to_the_end(store)
    assert sla_events(store) == Counter(
        {(id, "sla.hard_missed"): 1 for id in (run, job_id(run, 0), job_id(run, 1))}
    )
    assert states(store, run) == {"a": "ready", "b": "ready"}
    for number in (0, 1):
        complete(store, job_id(run, number))
    assert run_state(store, run) == "completed"
    counters = store.client.hgetall(store.keys.counters)
    assert (counters["runHardSlaMissed"], counters["jobHardSlaMissed"]) == ("1", "2")


def test_both_slas_missed_while_nobody_watched_are_told_in_order(store: Store) -> None:
    run = submit(store, new_run([job()], soft=SOFT, hard=HARD))
    store.now_ms = HARD + 1
    assert store.watch() == (2, None)
    advance_to_the_end(store)
    told = [(id, to) for _, id, _, to, _ in dump(store)["events"] if to.startswith("sla.")]
    name = job_id(run, 0)
    assert told == [
        (run, "sla.soft_missed"),
        (run, "sla.hard_missed"),
        (name, "sla.soft_missed"),
        (name, "sla.hard_missed"),
    ]


def test_every_miss_is_told_once_however_often_one_looks(store: Store) -> None:
    own = {"sla": 1, "soft": SOFT + 10, "hard": HARD + 10}
    run = submit(store, new_run([job("plain"), job("own", **own)], soft=SOFT, hard=HARD))
    for moment in (SOFT + 1, SOFT + 11, HARD, HARD + 1, HARD + 11, HARD + 99):
        store.now_ms = moment
        watch_to_the_end(store)
    subjects = (run, job_id(run, 0), job_id(run, 1))
    kinds = ("sla.soft_missed", "sla.hard_missed")
    assert sla_events(store) == Counter({(id, kind): 1 for id in subjects for kind in kinds})
    assert len(store.client.lrange(store.keys.alerts, 0, -1)) == 2
    assert not store.client.exists(store.keys.sla)


def test_moving_an_sla_that_was_missed_does_not_tell_it_again(store: Store) -> None:
    run = submit(store, new_run([job()], soft=SOFT))
    store.now_ms = SOFT + 1
    watch_to_the_end(store)
    for minutes in (1, 2):
        store.reprioritise(run, soft=SlaTime(store.now_ms + minutes * 60_000, relative=False))
        store.now_ms += minutes * 60_000 + 1
        watch_to_the_end(store)
    assert sla_events(store) == Counter({(id, "sla.soft_missed"): 1 for id in (run, job_id(run, 0))})


def test_an_sla_that_was_moved_in_time_is_missed_at_its_new_moment_only(store: Store) -> None:
    run = submit(store, new_run([job()], soft=SOFT))
    store.reprioritise(run, soft=SlaTime(HARD, relative=False))
    store.now_ms = HARD
    assert store.watch() == (0, 0.001)
    store.now_ms = HARD + 1
    assert store.watch() == (1, None)


def test_a_job_with_slas_of_its_own_is_watched_by_itself(store: Store) -> None:
    run = submit(store, new_run([job("plain"), job("own", sla=1, soft=HARD)], soft=SOFT))
    plain, own = job_id(run, 0), job_id(run, 1)
    store.now_ms = SOFT + 1
    watch_to_the_end(store)
    assert (job_field(store, plain, "soft_missed"), job_field(store, own, "soft_missed")) == (str(SOFT + 1), None)
    store.now_ms = HARD + 1
    with changes(store) as changed:
        assert store.watch() == (1, None)
    assert changed == {
        f"job:{own}": {"soft_missed": str(HARD + 1)},
        "sla": {own: None},
        "counters": {"jobSoftSlaMissed": "2"},
        "events": [("job", own, "ready", "sla.soft_missed", "")],
        "wake": ["1"],
    }


def test_what_has_ended_misses_nothing(store: Store) -> None:
    give_capacity(store)
    run = submit(store, new_run([job("a"), job("b", sla=1, hard=HARD)], soft=SOFT))
    for number in (0, 1):
        complete(store, job_id(run, number))
    store.now_ms = HARD + 1
    with changes(store) as changed:
        assert store.watch() == (0, None)
    assert changed == {"sla": {run: None, job_id(run, 1): None}}


def test_what_nobody_knows_any_more_is_forgotten(store: Store) -> None:
    store.client.zadd(store.keys.sla, {"0000000000001": NOW - 1, "0000000000001-000000": NOW - 1})
    assert store.watch() == (0, None)
    assert not store.client.exists(store.keys.sla)


def test_one_call_looks_at_no_more_than_it_was_asked_to(store: Store) -> None:
    for _ in range(3):
        submit(store, new_run([job()], soft=SOFT))
    store.now_ms = SOFT + 1
    assert store.watch(2) == (2, 0.0)
    assert store.watch(2) == (1, None)


def test_only_the_newest_alerts_are_kept_for_whoever_tells_them(store: Store) -> None:
    store.client.rpush(store.keys.alerts, *range(1_000))
    submit(store, new_run([job()], soft=SOFT))
    store.now_ms = SOFT + 1
    store.watch()
    kept = store.client.lrange(store.keys.alerts, 0, -1)
    assert (len(kept), kept[0]) == (1_000, "1")

"""watch.lua with `expire`: a missed hard SLA ends what waits and what runs."""

from __future__ import annotations

import json

import pytest

from marie_celery.config import Settings
from marie_celery.model.sla import OnHardSla
from marie_celery.store.keys import job_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    EXECUTOR,
    NOW,
    WORKER,
    advance_to_the_end,
    changes,
    dag,
    dispatch,
    give_capacity,
    job,
    job_field,
    new_run,
    run_state,
    running,
    states,
    submit,
    watch_to_the_end,
)

SOFT, HARD = NOW + 1_000, NOW + 5_000


def expiring(store: Store) -> Store:
    """The same Redis, where a missed hard SLA expires."""
    return Store(store.client, Settings(on_hard_sla=OnHardSla.EXPIRE), now_ms=store.now_ms)


def test_expire_ends_what_waits_and_what_runs_and_the_run_has_expired(store: Store) -> None:
    name, _, attempt = running(store, dag({"a": [], "b": ["a"], "c": []}, hard=HARD, on_hard="expire"))
    run = name[:13]
    store.now_ms = late = HARD + 1
    assert store.watch() == (1, None)
    assert store.client.lrange(store.keys.advance, 0, -1) == [f"missed {run} expire 0"]
    b, c = job_id(run, 1), job_id(run, 2)
    with changes(store) as changed:
        assert store.advance() == 0
    gone = {"state": "expired", "at": str(late), "reason": "hard_sla", "hard_missed": str(late)}
    assert changed == {
        f"job:{name}": gone,
        f"job:{b}": gone,
        f"job:{c}": gone,
        f"ready:{EXECUTOR}": {c: None},
        "rerank": {c: None},
        "active": {run: None},
        "ended": {run: late},
        f"run:{run}": {
            "state": "expired",
            "ended_at": str(late),
            "left": "0",
            "active": "0",
            "created": "0",
            "ready": "0",
            "expired": "3",
        },
        f"run:{run}:done": ["expired"],
        "counters": {"jobHardSlaMissed": "3"},
        "advance": None,
        "events": [
            ("job", name, "active", "sla.hard_missed", ""),
            ("job", name, "active", "expired", "hard_sla"),
            ("job", b, "created", "sla.hard_missed", ""),
            ("job", b, "created", "expired", "hard_sla"),
            ("job", c, "ready", "sla.hard_missed", ""),
            ("job", c, "ready", "expired", "hard_sla"),
            ("run", run, "active", "expired", ""),
        ],
    }
    assert store.renew(WORKER, {}, {EXECUTOR: 10}, [attempt]) == [attempt]
    assert not store.finish(name, 1, WORKER, "1")


@pytest.mark.parametrize("state", ["created", "ready", "dispatched", "active", "retry"])
def test_a_job_expires_in_every_open_state(store: Store, state: str) -> None:
    give_capacity(store)
    own = {"sla": 1, "hard": HARD, "on_hard": "expire"}
    above = {"deps": 1, "parents": 1} if state == "created" else {}
    jobs = [job("a", children="1"), job("b", **own, **above), job("c")]
    run = submit(store, new_run(jobs, roots=[0, 2] if state == "created" else [0, 1, 2]))
    name = job_id(run, 1)
    if state in ("dispatched", "active", "retry"):
        token = dispatch(store, name)
        if state != "dispatched":
            store.start(name, token, WORKER, "message")
        if state == "retry":
            store.call("fail", name, token, WORKER, "failure", "{}", 0, 9_000_000, 0)
    assert states(store, run)["b"] == state
    store.now_ms = HARD + 1
    assert store.watch()[0] == 1
    assert (states(store, run)["b"], job_field(store, name, "reason")) == ("expired", "hard_sla")
    assert not store.client.exists(store.keys.delayed)
    assert states(store, run)["c"] == "ready"


def test_the_setting_decides_for_runs_that_do_not_say(store: Store) -> None:
    patient, run = (
        submit(store, new_run([job()], hard=HARD, **more)) for more in ({"on_hard": "escalate"}, {})
    )
    store.now_ms = HARD + 1
    watch_to_the_end(expiring(store))
    assert (run_state(store, patient), run_state(store, run)) == ("created", "expired")


@pytest.mark.parametrize(
    ("run_says", "job_says", "expires"),
    [("expire", "", True), ("escalate", "", False), ("escalate", "expire", True), ("expire", "escalate", False)],
)
def test_a_job_with_its_own_sla_does_what_it_says_or_else_what_its_run_says(
    store: Store, run_says: str, job_says: str, expires: bool
) -> None:
    said = {"on_hard": job_says} if job_says else {}
    run = submit(store, new_run([job(sla=1, soft=SOFT, **said)], hard=HARD, on_hard=run_says))
    store.now_ms = HARD + 1
    watch_to_the_end(store)
    assert states(store, run) == {"a": "expired" if expires else "ready"}


def test_a_run_of_many_jobs_expires_piece_by_piece_and_nothing_of_it_is_skipped(store: Store) -> None:
    width = 2_500
    below = {"deps": 1, "parents": 1}
    jobs = [job(f"j{n}", **({"children": n + 1_200} if n < 1_200 else below)) for n in range(width - 100)]
    run = submit(store, new_run(jobs, roots=range(1_200), hard=HARD, on_hard="expire"))
    advance_to_the_end(store)
    store.now_ms = HARD + 1
    store.watch()
    advance_to_the_end(store)
    assert run_state(store, run) == "expired"
    assert set(states(store, run).values()) == {"expired"}


def test_a_submission_under_way_is_left_alone_until_it_is_complete(store: Store) -> None:
    arguments: list[object] = ["", 0, 30_000, "", "reject_duplicate", "", 5_000, 0, 3]
    arguments += ["dag", "d", "roots", "0-1", "hard", SOFT, 1, "0", "{}", 1, EXECUTOR, 0]
    fields = ["name", "a", "executor", EXECUTOR, "level", "0", "priority", "50", "task", "t", "sla", "1"]
    jobs = json.dumps([["[]\n{}", *fields]])
    _, run = store.call("submit", *arguments, jobs)
    store.now_ms = SOFT + 1
    with changes(store) as changed:
        assert expiring(store).watch() == (0, 1.001)
    assert changed == {"sla": {run: SOFT + 1_001, job_id(run, 0): SOFT + 1_001}}
    store.call("submit", run, 1, 30_000, "", "reject_duplicate", "", 5_000, 0, 0, 0, 0, 1, jobs)
    store.now_ms = SOFT + 1_002
    watch_to_the_end(expiring(store))
    assert run_state(store, run) == "expired"
    assert store.client.hmget(store.keys.run(run), "left", "expired") == ["0", "2"]

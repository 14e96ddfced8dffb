"""Whatever the shape of a run, however its jobs end, whatever happens meanwhile: it ends, and as the model says."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import fakeredis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marie_celery.config import Settings
from marie_celery.model.joins import JoinRule
from marie_celery.model.retry import FailureKind
from marie_celery.model.sla import OnHardSla, SlaTime
from marie_celery.model.states import WorkState, run_outcome
from marie_celery.planning import PLANNERS
from marie_celery.store.keys import job_id, number_of
from marie_celery.store.records import NewRun
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    AGEING_STEP,
    EXECUTOR,
    NOW,
    WORKER,
    advance_to_the_end,
    begin,
    dag,
    give_capacity,
    put_in_force,
    run_state,
    states,
    submit,
    watch_to_the_end,
)

OUTCOMES = ["completed", "completed", "skipped", "failed", "cancelled", "expired"]
RULES = [rule.value for rule in JoinRule]
INCIDENTS = ["none", "none", "swap", "age", "raise", "advance"]
EXPIRING = Settings(on_hard_sla=OnHardSla.EXPIRE)


@dataclass(frozen=True)
class Case:
    parents: Mapping[str, Sequence[str]]
    rules: Mapping[str, str]
    outcomes: Sequence[str]
    controls: Sequence[str]
    incidents: Sequence[str]
    """What happens after each end of a job."""
    expires_after: int
    """So many ends later the whole run misses its hard SLA."""

    def run(self) -> NewRun:
        run = dag(self.parents, self.rules)
        jobs = [
            job._replace(fields={**job.fields, "control": "noop"}) if job.fields["name"] in self.controls else job
            for job in run.jobs
        ]
        return replace(run, jobs=jobs)


def case(dice: random.Random) -> Case:
    names = "abcdefgh"[: dice.randint(1, 8)]
    parents = {
        name: sorted(dice.sample(names[:number], dice.randint(0, min(3, number))))
        for number, name in enumerate(names)
    }
    return Case(
        parents=parents,
        rules={name: dice.choice(RULES) for name in names if parents[name]},
        outcomes=[dice.choice(OUTCOMES) for _ in names],
        controls=[name for name in names if dice.random() < 0.2],
        incidents=[dice.choice(INCIDENTS) for _ in names],
        expires_after=dice.choice([0, 1, 2, 4, 99, 99, 99, 99]),
    )


def waiting(store: Store) -> list[str]:
    sets = (store.keys.ready, store.keys.new, store.keys.stale_ready, store.keys.stale_new)
    found = [name for key in sets for name in store.client.zrange(key(EXECUTOR), 0, -1)]
    assert len(found) == len(set(found))
    return found


def miss_hard_sla(store: Store, id: str) -> None:
    assert store.now_ms is not None
    assert store.reprioritise(id, hard=SlaTime(store.now_ms, relative=False))
    store.now_ms += 1
    watch_to_the_end(store)


def end(store: Store, name: str, outcome: str) -> None:
    if outcome == "cancelled":
        assert store.cancel_job(name)
        return
    if outcome == "expired":
        miss_hard_sla(store, name)
        return
    token = begin(store, name)
    if outcome == "completed":
        assert store.finish(name, token, WORKER, "1")
    elif outcome == "skipped":
        assert store.skip(name, token, WORKER, "not needed")
    else:
        assert store.fail(name, token, WORKER, FailureKind.FAILURE, {}, give_up=True) == "failed"


def happen(store: Store, run: str, incident: str, dice: random.Random) -> None:
    assert store.now_ms is not None
    if incident == "swap":
        put_in_force(store, dice.choice([*PLANNERS]))
    elif incident == "age":
        store.now_ms += AGEING_STEP
        store.rerank(dice.choice([1, 100]))
    elif incident == "raise":
        store.reprioritise(run, priority=dice.randint(0, 999))
    elif incident == "advance":
        store.advance()


def drive(store: Store, given: Case) -> None:
    give_capacity(store)
    run = submit(store, given.run())
    dice = random.Random(0)
    for ended in range(len(given.parents) + 1):
        if ended == given.expires_after and run_state(store, run) in ("created", "active"):
            miss_hard_sla(store, run)
        for name in waiting(store)[:1]:
            end(store, name, given.outcomes[number_of(name)])
            happen(store, run, given.incidents[ended % len(given.incidents)], dice)
    advance_to_the_end(store)
    found = states(store, run)
    counts = Counter(WorkState(state) for state in found.values())
    assert all(state.terminal for state in counts), found
    assert run_state(store, run) == run_outcome(counts, cancelled=False)
    stored = store.client.hgetall(store.keys.run(run))
    assert stored["left"] == "0"
    assert {state: int(stored.get(state, 0)) for state in WorkState} == {
        state: counts.get(state, 0) for state in WorkState
    }
    assert store.client.lrange(store.keys.done(run), 0, -1) == [stored["state"]]
    assert waiting(store) == []
    assert not store.client.exists(
        store.keys.slots(EXECUTOR), store.keys.rerank, store.keys.active, store.keys.delayed, store.keys.advance
    )
    assert not store.client.exists(store.keys.job(job_id(run, len(given.parents))))


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False).map(case))
def test_every_run_ends(given: Case) -> None:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer(), decode_responses=True) as client:
        drive(Store(client, EXPIRING, now_ms=NOW), given)


@pytest.mark.parametrize("seed", range(40))
def test_every_run_ends_on_a_real_server(real_store: Store, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(5):
        drive(Store(real_store.client, EXPIRING, now_ms=NOW), case(dice))
        real_store.client.flushall()

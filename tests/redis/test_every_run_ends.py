"""Whatever the shape of a run and however its jobs end, the run ends, and as the model says."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence

import fakeredis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marie_celery.config import Settings
from marie_celery.model.joins import JoinRule
from marie_celery.model.retry import FailureKind
from marie_celery.model.states import WorkState, run_outcome
from marie_celery.store.keys import job_id, number_of
from marie_celery.store.store import Store
from tests.redis.redis_runs import EXECUTOR, NOW, WORKER, begin, dag, give_capacity, run_state, states, submit

OUTCOMES = ["completed", "skipped", "failed", "cancelled"]
RULES = [rule.value for rule in JoinRule]


def drive(
    store: Store, parents: Mapping[str, Sequence[str]], rules: Mapping[str, str], outcomes: Sequence[str]
) -> None:
    give_capacity(store)
    run = submit(store, dag(parents, rules))
    for _ in parents:
        for name in store.client.zrange(store.keys.ready(EXECUTOR), 0, -1):
            end(store, name, outcomes[number_of(name)])
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
    assert store.client.zcard(store.keys.slots(EXECUTOR)) == 0
    assert not store.client.exists(store.keys.job(job_id(run, len(parents))))


def end(store: Store, name: str, outcome: str) -> None:
    if outcome == "cancelled":
        assert store.cancel_job(name)
        return
    token = begin(store, name)
    if outcome == "completed":
        assert store.finish(name, token, WORKER, "1")
    elif outcome == "skipped":
        assert store.skip(name, token, WORKER, "not needed")
    else:
        assert store.fail(name, token, WORKER, FailureKind.FAILURE, {}, give_up=True) == "failed"


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[str, list[str]], dict[str, str], list[str]]:
    names = "abcdefgh"[: draw(st.integers(1, 8))]
    parents = {
        name: sorted(draw(st.sets(st.sampled_from(names[:number]), max_size=3))) if number else []
        for number, name in enumerate(names)
    }
    rules = {name: draw(st.sampled_from(RULES)) for name in names if parents[name]}
    return parents, rules, [draw(st.sampled_from(OUTCOMES)) for _ in names]


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_every_run_ends(graph: tuple[dict[str, list[str]], dict[str, str], list[str]]) -> None:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer(), decode_responses=True) as client:
        drive(Store(client, Settings(), now_ms=NOW), *graph)


@pytest.mark.parametrize("seed", range(40))
def test_every_run_ends_on_a_real_server(real_store: Store, seed: int) -> None:
    dice = random.Random(seed)
    names = "abcdefgh"[: dice.randint(1, 8)]
    parents = {
        name: sorted(dice.sample(names[:number], dice.randint(0, min(3, number))))
        for number, name in enumerate(names)
    }
    rules = {name: dice.choice(RULES) for name in names if parents[name]}
    drive(real_store, parents, rules, [dice.choice(OUTCOMES) for _ in names])

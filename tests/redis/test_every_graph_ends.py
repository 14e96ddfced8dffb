"""Whatever a dag is made of, however its jobs end, whatever happens meanwhile: its run ends, with exact counts."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import fakeredis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marie_celery import branch, choose, merge, optional, switch
from marie_celery.authoring.dag import Dag
from marie_celery.authoring.options import RunOptions
from marie_celery.config import Settings
from marie_celery.model.joins import JoinRule
from marie_celery.model.states import WorkState, run_outcome
from marie_celery.store.replaying import descendants, instructions, nodes_of, unfinished
from marie_celery.store.store import Store
from tests.redis.graph_kit import (
    FAILED,
    SKIPPED,
    compiled,
    counts_are_exact,
    end,
    expand,
    jobs,
    last,
    named,
    source,
    waiting,
    work,
)
from tests.redis.redis_runs import EXECUTOR, NOW, advance_to_the_end, give_capacity, job_field, run_state, submit

RULES = [*JoinRule]
ANSWERS: list[Any] = [
    *([1, 2], [], [[0], []], [1, 2, 3], ["a"], "a", "b", 0, 1, None, {"a": 1}),
    *(FAILED, SKIPPED),
]


class Author:
    """Writes a dag by throwing dice."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def write(self, depth: int = 0, given: tuple[Any, ...] = ()) -> Any:
        refs = list(given)
        for _ in range(self._dice.randint(1, 4)):
            refs.append(self._node(depth, refs))
        return refs[-self._dice.randint(1, 2) :]

    def _pick(self, refs: list[Any]) -> Any:
        if not refs:
            return 1
        chosen = self._dice.choice(refs)
        return optional(chosen) if self._dice.random() < 0.2 else chosen

    def _node(self, depth: int, refs: list[Any]) -> Any:
        dice = self._dice
        kinds = ["task", "task", "task", "merge", "map", "batch"]
        if refs and depth < 2:
            kinds += ["branch", "switch", "choose", "graphs"]
        rule = dice.choice(RULES) if dice.random() < 0.3 else JoinRule.ALL_SUCCESS
        task = source.options(join=rule)
        match dice.choice(kinds):
            case "task":
                return task(*[self._pick(refs) for _ in range(dice.randint(0, 2))])
            case "merge":
                return merge(*[ref for ref in refs if dice.random() < 0.5], join=rule)
            case "map":
                return work.options(join=rule).map(self._list(refs), same=self._pick(refs))
            case "batch":
                return work.map(self._list(refs), batch=2)
            case "branch":
                return branch(dice.choice(refs), lambda: self.write(depth + 1, tuple(refs)), lambda: None)
            case "switch":
                other = None if dice.random() < 0.5 else lambda: self.write(depth + 1)
                return switch(dice.choice(refs), {"a": lambda: self.write(depth + 1), 1: lambda: 5}, other)
            case "choose":
                paths = {name: lambda: self.write(depth + 1, tuple(refs)) for name in "ab"}
                return choose(dice.choice(refs), paths)
        inner: Dag[..., Any] = Dag(lambda item: self.write(depth + 1, (item, *refs)), "inner", RunOptions())
        return inner.map(self._list(refs))

    def _list(self, refs: list[Any]) -> Any:
        return self._dice.choice([[], [1], [0, [1, 2]], *refs])


def options(dice: random.Random) -> dict[str, Any]:
    chosen: dict[str, Any] = {"fail_fast": dice.random() < 0.2}
    for option in ("gate", "on_failure", "finally_"):
        if dice.random() < 0.3:
            chosen[option] = named(option, last)
    return chosen


def happen(store: Store, run: str, dice: random.Random) -> None:
    """A scheduler dies with a claim, an operator cancels, pauses, resumes, reprioritises."""
    assert store.now_ms is not None
    incident = dice.random()
    if incident < 0.1:
        store.claim_map()
        store.now_ms += 5_000
    elif incident < 0.13:
        store.cancel_run(run)
    elif incident < 0.16:
        store.cancel_job(dice.choice(jobs(store, run)))
    elif incident < 0.2:
        store.hold("run", run)
        store.let_go("run", run)
    elif incident < 0.25:
        store.reprioritise(run, priority=dice.randint(0, 999))


def drive(store: Store, run: str, dice: random.Random) -> None:
    for _ in range(2_000):
        advance_to_the_end(store)
        expand(store)
        ready = waiting(store)
        if not ready:
            break
        chosen, answer = dice.choice(ready), dice.choice(ANSWERS)
        batch = job_field(store, chosen, "batch")
        end(store, chosen, answer if batch is None or answer in (FAILED, SKIPPED) else [answer] * int(batch))
        counts_are_exact(store, run)
        happen(store, run, dice)
    advance_to_the_end(store)
    check_the_end(store, run)


def check_the_end(store: Store, run: str) -> None:
    found = {each: job_field(store, each, "state") for each in jobs(store, run)}
    counts = Counter(WorkState(state or "") for state in found.values())
    assert all(state.terminal for state in counts), found
    reason = store.client.hget(store.keys.run(run), "cancel")
    assert run_state(store, run) == run_outcome(counts, cancelled=reason not in (None, "fail_fast"))
    counts_are_exact(store, run)
    keys = store.keys
    assert not store.client.exists(keys.expand, keys.advance, keys.active, keys.slots(EXECUTOR), keys.delayed)


def play_a_life(store: Store, dice: random.Random) -> None:
    """A run, and what becomes of it when it is replayed, in part or as a whole."""
    give_capacity(store)
    run = submit(store, compiled(lambda: Author(dice).write(), store.settings, **options(dice)))
    drive(store, run, dice)
    for replays in range(2):
        nodes = nodes_of(store, run)
        chosen = unfinished(nodes) or {dice.choice(list(nodes))}
        if dice.random() < 0.7:
            chosen = descendants(nodes, chosen)
        store.replay(run, instructions(nodes, chosen), replays)
        drive(store, run, dice)


@settings(max_examples=120, deadline=None)
@given(st.randoms(use_true_random=False))
def test_every_graph_ends(dice: random.Random) -> None:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer(), decode_responses=True) as client:
        play_a_life(Store(client, Settings(), now_ms=NOW), dice)


@pytest.mark.parametrize("seed", range(40))
def test_every_graph_ends_on_a_real_server(real_store: Store, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(3):
        play_a_life(Store(real_store.client, Settings(), now_ms=NOW), dice)
        real_store.client.flushall()

"""What `doctor` says about the schedulers: who is at work, how long their turns take, which planner is in force."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from marie_celery.config import Settings
from marie_celery.store.command import SchedulerView
from marie_celery.store.store import Store

SLOW_TURN_MS = 100.0
"""An order waits for the turn that is under way."""


@dataclass(frozen=True, slots=True)
class Finding:
    state: Literal["ok", "warning"]
    text: str


def inspect_schedulers(store: Store, settings: Settings) -> Iterator[Finding]:
    live = _live(store)
    if not live:
        yield Finding("warning", "no scheduler is at work, so nothing is sent to the workers: marie scheduler")
    for view in live:
        yield _inspect(view)
    yield _planner(store.policy(), settings)


def _live(store: Store) -> list[SchedulerView]:
    """Without those whose lease has ended."""
    live = set(store.client.zrangebyscore(store.keys.schedulers, f"({store.read_clock()}", "+inf"))
    return [view for view in store.schedulers() if view.id in live]


def _inspect(view: SchedulerView) -> Finding:
    graph = view.graph
    errors, longest = int(graph.get("errors", 0)), float(graph.get("longest_turn_ms", 0.0))
    if view.fields.get("paused") == "1":
        return Finding("warning", f"{view.id}: paused by an operator, it sends nothing")
    text = f"{view.id}: longest turn {longest:.0f} ms ({graph.get('slowest_node') or 'none yet'}), {errors} errors"
    return Finding("warning" if errors or longest > SLOW_TURN_MS else "ok", text)


def _planner(policy: dict[str, str], settings: Settings) -> Finding:
    if not policy:
        return Finding("ok", f"planner {settings.planner}, from the first scheduler on")
    name, by = policy["name"], policy.get("by", "?")
    if name == settings.planner:
        return Finding("ok", f"planner {name}, set by {by}")
    told = f"planner {name}, set by {by}; the settings say {settings.planner}: marie planner --reset"
    return Finding("warning", told)

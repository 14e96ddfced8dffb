"""The end of every example: let everything go, keep all workers healthy, and see every run come to its end."""

from __future__ import annotations

from marie_celery.store.keys import attempt_id, split_attempt
from tests.stateful.graphs import EXECUTORS, TASKS
from tests.stateful.operators import Operators
from tests.stateful.world import WORKERS

MOST_ROUNDS = 60
ROUND_MS = 4_000
"""Shorter than the lease of a heartbeat."""

# What a namespace keeps when all of its runs are forgotten.
BASELINE = (
    "clock", "counters", "estimates", "messages", "events", "executor", "executors", "planner", "wake", "alerts",
)  # fmt: skip


def drain(world: Operators) -> None:
    world.reconcile()
    let_go(world)
    for name in WORKERS:
        world.hire(name, dict.fromkeys(EXECUTORS, 2))
    for _ in range(MOST_ROUNDS):
        if all(run.ended for run in world.model.runs.values()) and not world.now.pieces:
            break
        work(world)
        world.pass_time(ROUND_MS)
    open_runs = [run for run in world.model.runs.values() if not run.ended]
    assert not open_runs, f"these runs never end: {open_runs}"
    world.reconcile()
    forget(world)


def let_go(world: Operators) -> None:
    for task in TASKS:
        world.hold("task", task, holds=False)
    for executor in EXECUTORS:
        world.set_target(executor, None)
        if executor in world.model.held_executors:
            world.hold("executor", executor, holds=False)
    for run in list(world.model.runs.values()):
        if run.pruned or run.ended:
            continue
        world.hold("run", run.id, holds=False)
        for job in run.jobs:
            if job.held and not job.ended:
                world.hold("job", job.id, holds=False)


def work(world: Operators) -> None:
    """One round of healthy schedulers and workers. What was sent and lost on the way comes back by its lease."""
    for name in WORKERS:
        world.beat(name)
    for act in (world.promote, world.rerank, world.watch, world.reap):
        act()
    advance_to_the_end(world)
    world.dispatch(world.plan())
    for attempt in world.mail:
        world.start(attempt, WORKERS[0])
    world.mail.clear()
    for attempt in [attempt for worker in world.workers.values() for attempt in worker.hands]:
        report_of_before(world, attempt)
    for name, worker in world.workers.items():
        for attempt in list(worker.hands):
            world.finish(attempt, name, "completed")
    advance_to_the_end(world)


def report_of_before(world: Operators, attempt: str) -> None:
    """While an attempt is at work, the one before it reports after all."""
    job, token = split_attempt(attempt)
    before = attempt_id(job, token - 1)
    if world.is_current(attempt) and before in world.runners:
        world.finish(before, world.runners[before], "completed")


def advance_to_the_end(world: Operators) -> None:
    calls = 0
    while world.now.pieces:
        world.advance()
        calls += 1
        assert calls < 1_000, f"there is no end to {world.now.pieces}"


def forget(world: Operators) -> None:
    """When the runs are pruned and the workers gone, the keys return to the baseline."""
    for run in list(world.model.runs.values()):
        if not run.pruned:
            world.prune(run)
    advance_to_the_end(world)
    for name in list(world.workers):
        world.leave(name)
    world.pass_time(120_000)
    world.reap()
    prefix = world.store.keys.prefix
    left = {key.removeprefix(prefix) for key in world.store.client.keys(f"{prefix}*")}
    more = {key for key in left if key.partition(":")[0] not in BASELINE}
    assert not more, f"{more} are left over"

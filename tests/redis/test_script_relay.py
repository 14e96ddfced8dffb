"""The relay in finish.lua: a freed slot goes to the job that a scheduler would choose at this moment, or to nobody."""

from __future__ import annotations

from typing import Any

import pytest

from marie_celery.planning import planner
from marie_celery.planning.policy import policy_fields
from marie_celery.store.keys import attempt_id, job_id
from marie_celery.store.records import Ended
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    EXECUTOR,
    NOW,
    WORKER,
    advance_to_the_end,
    begin,
    changes,
    dag,
    give_capacity,
    job,
    new_run,
    put_in_force,
    submit,
)
from tests.redis.resource_kit import declare, line, needing

MESSAGE = "the-message"


class Backwards:
    """A planner as a user may write one."""

    def plan(self, jobs: list[Any], slots: object, active_dags: object) -> list[Any]:
        return jobs[::-1]


def at_work(store: Store, *, slots: int = 1, **fields: object) -> tuple[str, int]:
    """A job that runs, and takes all the slots there are."""
    give_capacity(store, slots)
    running = job_id(submit(store, new_run([job("first", **fields)])), 0)
    return running, begin(store, running)


def go_on(store: Store, running: tuple[str, int], message: str = MESSAGE) -> Ended:
    return store.end(*running, WORKER, "completed", "1", message)


def next_of(store: Store, running: tuple[str, int]) -> str | None:
    taken = go_on(store, running).next
    return taken.job_id if taken else None


def test_the_next_job_is_booked_begun_and_told_in_the_same_step(store: Store) -> None:
    running = at_work(store)
    run = submit(store, new_run([job("next", inputs='[1]\n{"a":2}')]))
    following = job_id(run, 0)
    with changes(store) as changed:
        ended = go_on(store, running)
    taken = ended.next
    assert ended.counts
    assert taken is not None
    assert (taken.job_id, taken.token, taken.task, taken.started.inputs) == (following, 1, "t", '[1]\n{"a":2}')
    assert taken.started.job["name"] == "next"
    attempt = attempt_id(following, 1)
    assert changed[f"slots:{EXECUTOR}"] == {attempt_id(running[0], 1): None, attempt: NOW + 60_000}
    assert changed[f"worker:{WORKER}:jobs"] == {attempt_id(running[0], 1): None, attempt: MESSAGE}
    assert changed[f"job:{following}"] == {"state": "active", "token": "1", "worker": WORKER}
    assert [event[2:4] for event in changed["events"] if event[1] == following] == [
        ("ready", "dispatched"),
        ("dispatched", "active"),
    ]
    assert "wake" not in changed, "nobody is needed to go on"


def test_a_child_goes_on_where_its_parent_ended(store: Store) -> None:
    give_capacity(store, 1)
    run = submit(store, dag({"a": [], "b": ["a"]}))
    a, b = job_id(run, 0), job_id(run, 1)
    assert next_of(store, (a, begin(store, a))) == b


def test_nothing_ready_is_nothing_next_and_the_slot_is_free(store: Store) -> None:
    running = at_work(store)
    assert go_on(store, running) == Ended(True)
    assert store.client.zcard(store.keys.slots(EXECUTOR)) == 0


def test_a_stale_end_is_given_nothing(store: Store) -> None:
    name, token = at_work(store)
    submit(store)
    assert go_on(store, (name, token + 1)) == Ended(False)


def test_without_a_message_to_go_on_the_schedulers_are_called(store: Store) -> None:
    running = at_work(store)
    submit(store)
    with changes(store) as changed:
        assert go_on(store, running, "") == Ended(True)
    assert changed["wake"] == ["1"]


def test_schedulers_are_called_for_other_executors_that_have_room(store: Store) -> None:
    running = at_work(store)
    give_capacity(store, 1, worker="w2", executor="far")
    run = submit(store, new_run([job("a", children="1"), job("b", executor="far", deps=1, parents=1)], roots=[0]))
    a = job_id(run, 0)
    assert next_of(store, running) == a
    with changes(store) as changed:
        assert next_of(store, (a, 1)) is None
    assert changed["wake"] == ["1"]


REFUSALS = {
    "a paused executor": lambda store, following: store.hold("executor", EXECUTOR),
    "a worker that is leaving": lambda store, following: store.renew(WORKER, {"host": "h"}, {}),
    "a time limit": lambda store, following: store.client.hset(store.keys.job(following), "time_limit", "5"),
    "a soft time limit": lambda store, following: store.client.hset(store.keys.job(following), "soft_time_limit", "5"),
    "relay=False": lambda store, following: store.client.hset(store.keys.job(following), "relay", "0"),
    "a held task": lambda store, following: store.hold("task", "t"),
    "tours": lambda store, following: store.replan(policy_fields(planner("tours"), name="tours")),
    "somebody's own planner": lambda store, following: store.replan(
        policy_fields(planner("tests.redis.test_script_relay:Backwards"), name="own")
    ),
    "ranks that are being made anew": lambda store, following: put_in_force(store, "fifo"),
    "a lower target": lambda store, following: store.set_target(EXECUTOR, 0),
}


@pytest.mark.parametrize("why", REFUSALS)
def test_nobody_is_chosen_because_of(store: Store, why: str) -> None:
    running = at_work(store)
    following = job_id(submit(store), 0)
    REFUSALS[why](store, following)
    assert next_of(store, running) is None
    assert store.client.hget(store.keys.job(following), "token") is None


def test_a_limit_over_all_executors_counts(store: Store) -> None:
    limited = Store(store.client, store.settings.model_copy(update={"max_concurrency": 1}), now_ms=NOW)
    give_capacity(limited, 3)
    run = submit(limited, new_run([job(name) for name in "abc"]))
    first = job_id(run, 0)
    token = begin(limited, first)
    limited.client.zadd(limited.keys.slots(EXECUTOR), {"other.1": NOW + 5_000})
    assert next_of(limited, (first, token)) is None


def test_under_a_limit_over_all_executors_no_executor_keeps_the_others_out(store: Store) -> None:
    limited = Store(store.client, store.settings.model_copy(update={"max_concurrency": 1}), now_ms=NOW)
    running = at_work(limited)
    give_capacity(limited, 1, worker="w2", executor="far")
    submit(limited, new_run([job("better", executor="far", priority=90)]))
    submit(limited, new_run([job("worse", priority=10)]))
    limited.client.delete(limited.keys.wake)
    with changes(limited) as changed:
        assert next_of(limited, running) is None
    assert changed["wake"] == ["1"]


def test_under_a_limit_of_active_runs_no_executor_keeps_the_others_out(store: Store) -> None:
    put_in_force(store, "global", max_active_dags=1)
    running = at_work(store)
    give_capacity(store, 1, worker="w2", executor="far")
    submit(store, new_run([job("better", executor="far", priority=90)]))
    submit(store, new_run([job("worse", priority=10)]))
    store.client.delete(store.keys.wake)
    with changes(store) as changed:
        assert next_of(store, running) is None
    assert changed["wake"] == ["1"]


def test_the_best_rank_is_next(store: Store) -> None:
    running = at_work(store)
    submit(store, new_run([job("low", priority=10)]))
    best = job_id(submit(store, new_run([job("high", priority=90)])), 0)
    submit(store, new_run([job("normal")]))
    assert next_of(store, running) == best


def test_ranks_that_time_has_changed_are_put_right_before_the_choice(store: Store) -> None:
    put_in_force(store, "priority, fifo")
    running = at_work(store)
    old = job_id(submit(store, new_run([job("old", priority=45)])), 0)
    store.now_ms = NOW + 299_000
    store.renew(WORKER, {"host": "h"}, {EXECUTOR: 1}, [attempt_id(*running)])
    submit(store, new_run([job("young", priority=50)]))
    store.now_ms = NOW + 301_000
    assert next_of(store, running) == old, "its age has raised it above the other"


def test_new_runs_get_their_share(store: Store) -> None:
    give_capacity(store, 1)
    begun = submit(store, new_run([job(f"j{number}") for number in range(12)]))
    running = (job_id(begun, 0), begin(store, job_id(begun, 0)))
    for _ in range(6):
        submit(store, new_run([job("new")]))
    kinds = []
    for _ in range(10):
        taken = go_on(store, running).next
        assert taken
        kinds.append("old" if taken.job_id.startswith(begun) else "new")
        running = (taken.job_id, taken.token)
    assert kinds.count("new") == 3


def test_tenants_take_turns(store: Store) -> None:
    give_capacity(store, 1)
    store.set_weight("acme", 3)
    owners = {}
    for tenant in ("acme", "zeta"):
        run = submit(store, new_run([job(f"j{number}", tenant=tenant, estimate=1000) for number in range(20)]))
        owners[run] = tenant
    first = job_id(run, 0)
    running = (first, begin(store, first))
    turns = []
    for _ in range(16):
        assert store.now_ms is not None
        store.now_ms += 1000
        give_capacity(store, 1)
        taken = go_on(store, running).next
        assert taken
        turns.append(owners[taken.job_id[:13]])
        running = (taken.job_id, taken.token)
    assert 12 <= turns.count("acme") <= 13, "zeta had the first turn"


def test_a_job_that_is_short_of_something_stands_aside_for_the_next(store: Store) -> None:
    declare(store, quantity=1)
    give_capacity(store, 2)
    run = submit(store, new_run([needing("a", gpu=1), needing("b")]))
    holder, running = job_id(run, 0), job_id(run, 1)
    begin(store, holder)
    token = begin(store, running)
    (short,) = (job_id(submit(store, new_run([needing("c", gpu=1, priority=99)])), 0),)
    following = job_id(submit(store, new_run([needing("d")])), 0)
    assert next_of(store, (running, token)) == following
    assert line(store) == [short]


def test_what_the_end_of_a_job_gives_back_is_there_for_the_next(store: Store) -> None:
    declare(store, "gpu", kind="discrete", items="g1")
    give_capacity(store, 1)
    run = submit(store, new_run([needing("a", gpu=1), needing("b", gpu=1)]))
    a, b = job_id(run, 0), job_id(run, 1)
    taken = go_on(store, (a, begin(store, a))).next
    assert taken
    assert (taken.job_id, taken.started.items) == (b, {"gpu": ("g1",)})


def test_the_first_job_of_a_run_begins_it(store: Store) -> None:
    running = at_work(store)
    run = submit(store, new_run([job("a"), job("b")]))
    assert next_of(store, running) == job_id(run, 0)
    advance_to_the_end(store)
    assert store.client.hget(store.keys.run(run), "state") == "active"
    assert store.client.zrange(store.keys.ready(EXECUTOR), 0, -1) == [job_id(run, 1)]


def test_a_cancelled_run_goes_on_with_nothing_of_its_own(store: Store) -> None:
    give_capacity(store, 1)
    run = submit(store, new_run([job("a"), job("b")]))
    a = job_id(run, 0)
    token = begin(store, a)
    store.cancel_run(run)
    other = job_id(submit(store), 0)
    assert go_on(store, (a, token)) == Ended(False), "what was cancelled goes on with nothing"
    assert store.client.hget(store.keys.job(other), "state") == "ready"

"""Tenants share an executor by their weights, whatever the ranks of their jobs."""

from __future__ import annotations

from collections import Counter

from marie_celery.planning import planner
from marie_celery.scheduler.choice import choose
from marie_celery.store.keys import attempt_id, job_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    EXECUTOR,
    NOW,
    WORKER,
    advance_to_the_end,
    changes,
    give_capacity,
    job,
    new_run,
    put_in_force,
    submit,
)


def of_tenant(store: Store, tenant: str | None, jobs: int, **fields: object) -> list[str]:
    given = {**({"tenant": tenant} if tenant else {}), "estimate": 1000, **fields}
    run = submit(store, new_run([job(f"j{number}", **given) for number in range(jobs)]))
    return [job_id(run, number) for number in range(jobs)]


def next_jobs(store: Store) -> list[str]:
    """What a scheduler would send now, sent."""
    chosen = choose(planner("global"), store.peek(16, 256), 300, 10_000)
    claims = store.dispatch([], [(each.job_id, 0) for each in chosen])
    assert all(claim.code == 0 for claim in claims)
    return [claim.job_id for claim in claims]


def work_off(store: Store, owner: dict[str, str], rounds: int, ms: int = 1000) -> Counter[str]:
    """Keep all slots busy for so many rounds; slot time by tenant."""
    had: Counter[str] = Counter()
    for _ in range(rounds):
        for each in next_jobs(store):
            assert store.start(each, 1, WORKER, attempt_id(each, 1))
            had[owner[each]] += ms
        assert store.now_ms is not None
        store.now_ms += ms
        for attempt in store.client.zrange(store.keys.slots(EXECUTOR), 0, -1):
            store.finish(attempt.partition(".")[0], 1, WORKER, "1")
        give_capacity(store, 3)
    return had


def test_three_to_one_gets_three_to_one_although_the_ranks_say_otherwise(real_store: Store) -> None:
    store = real_store
    give_capacity(store, 3)
    store.set_weight("acme", 3)
    owner = dict.fromkeys(of_tenant(store, "acme", 200, priority=10), "acme")
    owner |= dict.fromkeys(of_tenant(store, "zeta", 200, priority=90), "zeta")
    had = work_off(store, owner, 60)
    assert had["acme"] + had["zeta"] == 180_000
    assert abs(had["acme"] / 180_000 - 0.75) <= 0.03


def test_the_share_of_an_idle_tenant_flows_to_the_others_and_is_not_saved_up(real_store: Store) -> None:
    store = real_store
    give_capacity(store, 3)
    owner = dict.fromkeys(of_tenant(store, "acme", 300), "acme")
    assert work_off(store, owner, 40) == {"acme": 120_000}
    owner |= dict.fromkeys(of_tenant(store, "zeta", 100), "zeta")
    had = work_off(store, owner, 20)
    assert abs(had["zeta"] - had["acme"]) <= 3_000, "it comes back to half, not to all"


def test_jobs_that_name_nobody_are_a_tenant_too(real_store: Store) -> None:
    store = real_store
    give_capacity(store, 3)
    owner = dict.fromkeys(of_tenant(store, None, 100), "nobody")
    owner |= dict.fromkeys(of_tenant(store, "acme", 100), "acme")
    had = work_off(store, owner, 30)
    assert abs(had["nobody"] - had["acme"]) <= 3_000


def test_what_a_job_really_took_is_what_counts(real_store: Store) -> None:
    store = real_store
    give_capacity(store, 1)
    (long,) = of_tenant(store, "acme", 1, estimate=100)
    assert next_jobs(store) == [long]
    store.start(long, 1, WORKER, attempt_id(long, 1))
    store.now_ms = NOW + 9_000
    store.finish(long, 1, WORKER, "1")
    assert store.client.hget(store.keys.shares(EXECUTOR), "acme") == "9000000"


def test_a_choice_is_charged_in_the_step_that_books_it(store: Store) -> None:
    give_capacity(store)
    store.set_weight("acme", 2)
    first, second = of_tenant(store, "acme", 2)
    lane = f"{EXECUTOR}@acme"
    with changes(store) as changed:
        store.dispatch([], [(first, 0)])
    assert changed[f"shares:{EXECUTOR}"] == {"+acme": "500000"}
    assert changed[f"charges:{EXECUTOR}"] == {attempt_id(first, 1): f"acme 500000 {NOW}"}
    assert changed[f"new:{lane}"] == {first: None, second: None}
    assert changed[f"ready:{lane}"].keys() == {second}
    assert changed[f"tenants:{EXECUTOR}"] == {"acme": 500_000}
    with changes(store) as changed:
        store.dispatch([], [(second, 0)])
    assert changed[f"tenants:{EXECUTOR}"] == {"acme": None}, "nothing of it is on offer any more"


def test_an_executor_without_tenants_keeps_no_accounts(store: Store) -> None:
    give_capacity(store)
    (one,) = of_tenant(store, None, 1)
    with changes(store) as changed:
        store.dispatch([], [(one, 0)])
    assert not [key for key in changed if key.startswith(("shares", "charges", "tenants"))]


def test_a_swap_of_planners_finds_the_jobs_of_tenants_too(store: Store) -> None:
    give_capacity(store)
    jobs = of_tenant(store, "acme", 3)
    assert put_in_force(store, "fifo") == 3
    advance_to_the_end(store)
    assert next_jobs(store) == jobs


def test_cancel_hold_and_reconcile_know_the_lane_of_a_tenant(store: Store) -> None:
    give_capacity(store)
    first, second, third = of_tenant(store, "acme", 3)
    store.cancel_job(first)
    store.hold("job", second)
    assert store.reconcile(third[:13]) == {}
    assert next_jobs(store) == [third]
    store.let_go("job", second)
    assert next_jobs(store) == [second]


def test_the_first_tenant_of_an_executor_may_come_with_the_end_of_a_job(store: Store) -> None:
    """Children of one job, ready in the same step: one that names nobody, then one of a tenant."""
    give_capacity(store, 1)
    children = [job("b", deps=1, parents=1), job("c", deps=1, parents=1, tenant="ann")]
    run = submit(store, new_run([job("a", children="1-2"), *children], roots=[0]))
    a, b, c = (job_id(run, number) for number in range(3))
    assert next_jobs(store) == [a]
    store.start(a, 1, WORKER, attempt_id(a, 1))
    store.finish(a, 1, WORKER, "1")
    assert set(store.client.zrange(store.keys.tenants(EXECUTOR), 0, -1)) == {"-", "ann"}
    give_capacity(store, 2)
    assert set(next_jobs(store)) == {b, c}

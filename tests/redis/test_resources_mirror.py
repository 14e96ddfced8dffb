"""The scripts answer as the managers in Python do, whatever was booked, released and resized before."""

from __future__ import annotations

from typing import Any

import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marie_celery.config import Settings
from marie_celery.resources import Answer, Delta, Manager, Request, book_all
from marie_celery.store.codes import Code
from marie_celery.store.keys import attempt_id
from marie_celery.store.store import Store
from tests.redis.redis_runs import NOW, WORKER, put_in_force
from tests.redis.resource_kit import ask, left_over, needing, ready_jobs, resource

RESOURCES: dict[str, dict[str, Any]] = {
    "memory": {"kind": "quantity", "quantity": 5},
    "gpu": {"kind": "discrete", "items": "g1,g2,g3"},
    "calls": {"kind": "rate", "rate": 100, "burst": 3},
    "customer": {"kind": "concurrency", "limit": 2},
    "one": {"kind": "highlander"},
}
ANSWERS = {Code.OK: Answer.BOOKED, Code.SHORT: Answer.SHORT, Code.EXHAUSTED: Answer.EXHAUSTED}
KEYED = ("customer", "one")

AMOUNT = st.integers(1, 3)
NEEDS = st.fixed_dictionaries(
    {},
    optional={
        "memory": AMOUNT,
        "gpu": AMOUNT,
        "calls": AMOUNT,
        "customer": st.tuples(st.integers(1, 2), st.sampled_from(["", "a", "b"])),
        "one": st.tuples(st.just(1), st.sampled_from(["", "a"])),
    },
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("book"), NEEDS),
        st.tuples(st.just("release"), st.integers(0, 30)),
        st.tuples(st.just("wait"), st.integers(1, 25)),
        st.tuples(st.just("memory"), st.integers(-2, 2)),
        st.tuples(st.just("gpu"), st.sampled_from(["g1", "g3", "g4"])),
    ),
    min_size=5,
    max_size=30,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_every_answer_and_all_that_is_left_is_the_same(real_client: redis.Redis, steps: list[tuple[str, Any]]) -> None:
    real_client.flushall()
    store = Store(real_client, Settings(), now_ms=NOW)
    put_in_force(store, "tours")  # nobody stands aside: every answer is the managers' own
    managers: dict[str, Manager] = {}
    for name, given_ in RESOURCES.items():
        store.declare(name, resource(**given_))
        managers[name] = resource(**given_).manager()
    holders: list[str] = []
    for verb, detail in steps:
        assert store.now_ms is not None
        if verb == "book":
            (job,) = ready_jobs(store, needing(**detail), slots=1000)
            needs = {
                name: Request(*given) if isinstance(given, tuple) else Request(given) for name, given in detail.items()
            }
            expected = book_all(managers, needs, attempt_id(job, 1), store.now_ms)
            (code,) = ask(store, job)
            # Which of several refusals is told first is not the managers' business.
            assert (code == Code.OK) == (expected.answer is Answer.BOOKED)
            if len(expected.refused_by) == 1:
                assert ANSWERS[code] is expected.answer
            if code == Code.OK:
                holders.append(job)
                started = store.start(job, 1, WORKER, attempt_id(job, 1))
                assert started
                assert started.items == dict(expected.items)
        elif verb == "release" and holders:
            job = holders.pop(detail % len(holders))
            store.finish(job, 1, WORKER, "1")
            for manager in managers.values():
                manager.release(attempt_id(job, 1))
        elif verb == "wait":
            store.now_ms += detail
        elif verb == "memory":
            delta = Delta(amount=detail)
            if store.resources()["memory"].most + detail >= 0:
                store.resize("memory", delta)
                managers["memory"].resize(delta, store.now_ms)
        elif verb == "gpu":
            has = detail in store.resources()["gpu"].items  # type: ignore[union-attr]
            delta = Delta(remove=(detail,)) if has else Delta(add=(detail,))
            store.resize("gpu", delta)
            managers["gpu"].resize(delta, store.now_ms)
    for job in holders:
        store.finish(job, 1, WORKER, "1")
    assert left_over(store) == {}

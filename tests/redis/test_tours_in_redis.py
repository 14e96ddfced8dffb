"""Fair tours on what Redis has: three queues, heads of different ages, one tight manager."""

from __future__ import annotations

import pytest

from marie_celery.resources import OnShortage
from marie_celery.scheduler.tours import choose_by_tours, look_at_stock
from marie_celery.store.codes import Code
from marie_celery.store.store import Store
from tests.redis.redis_runs import NOW, WORKER, put_in_force, states
from tests.redis.resource_kit import declare, needing, ready_jobs

WAITED = {
    "o1": (30, "ocr", {"gpu": 1}),
    "o2": (28, "ocr", {"gpu": 3}),
    "o3": (27, "ocr", {"gpu": 1}),
    "t1": (20, "train", {"gpu": 1}),
    "t2": (19, "train", {"gpu": 1}),
    "t3": (18, "train", {"gpu": 1}),
    "m1": (10, "mail", {}),
    "m2": (9, "mail", {}),
    "m3": (8, "mail", {}),
}


@pytest.fixture
def names(store: Store) -> dict[str, str]:
    """Job → name, of the scenario: each has waited so many seconds for its executor and needs so much."""
    put_in_force(store, "tours")
    declare(store, "gpu", quantity=4)
    found = {}
    for name, (waited, executor, needs) in WAITED.items():
        store.now_ms = NOW - waited * 1000
        (job,) = ready_jobs(store, needing(name, executor=executor, **needs))
        found[job] = name
    store.now_ms = NOW
    return found


def poll(store: Store, names: dict[str, str], mode: OnShortage, max_skips: int = 100) -> list[str]:
    outlook = store.peek(16, 256)
    assert not outlook.parks
    tours = choose_by_tours(outlook, look_at_stock(store), mode, max_skips)
    store.note_skips(tours.skips)
    claims = store.dispatch([], [(job.job_id, 0) for job in tours.jobs])
    assert all(claim.code == Code.OK for claim in claims)
    return [names[claim.job_id] for claim in claims]


def test_with_hold_the_oldest_waits_and_keeps_the_manager_for_itself(store: Store, names: dict[str, str]) -> None:
    assert poll(store, names, OnShortage.HOLD) == ["o1", "t1", "m1", "m2", "m3"]
    assert poll(store, names, OnShortage.HOLD) == [], "o2 is the head of the longest waiting queue, again and again"


def test_what_is_given_back_goes_to_the_one_it_was_kept_for(store: Store, names: dict[str, str]) -> None:
    poll(store, names, OnShortage.HOLD)
    (first,) = (job for job, name in names.items() if name == "o1")
    assert store.start(first, 1, WORKER, f"{first}.1")
    store.finish(first, 1, WORKER, "1")
    assert poll(store, names, OnShortage.HOLD) == ["o2"]


def test_with_skip_later_jobs_that_fit_may_pass(store: Store, names: dict[str, str]) -> None:
    assert poll(store, names, OnShortage.SKIP) == ["o1", "t1", "m1", "o3", "t2", "m2", "m3"]
    (passed,) = (job for job, name in names.items() if name == "o2")
    assert store.client.hget(store.keys.job(passed), "skips") == "2"


def test_a_job_that_was_passed_too_often_is_held_for(store: Store, names: dict[str, str]) -> None:
    assert poll(store, names, OnShortage.SKIP, max_skips=1) == ["o1", "t1", "m1", "o3", "m2", "m3"]


def test_a_job_that_is_held_back_counts_for_the_place_of_its_queue(store: Store, names: dict[str, str]) -> None:
    store.now_ms = NOW - 60_000
    (oldest,) = ready_jobs(store, needing("m0", executor="mail"))
    store.hold("job", oldest)
    store.now_ms = NOW
    assert states(store, oldest[:13]) == {"m0": "held"}
    assert poll(store, names, OnShortage.HOLD)[:3] == ["m1", "o1", "t1"]


def test_slots_are_one_more_resource(store: Store, names: dict[str, str]) -> None:
    store.set_target("mail", 1)
    assert poll(store, names, OnShortage.HOLD) == ["o1", "t1", "m1"]

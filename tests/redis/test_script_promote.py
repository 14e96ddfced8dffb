"""promote.lua: jobs whose delay is over are ready again."""

from __future__ import annotations

from marie_celery.model.retry import FailureKind
from marie_celery.store.store import Store
from tests.redis.redis_runs import BURST, EXECUTOR, NOW, WORKER, begin, changes, first_job, give_capacity, rank


def delayed(store: Store, seconds: float) -> str:
    give_capacity(store)
    name = first_job(store)
    store.fail(name, begin(store, name), WORKER, FailureKind.FAILURE, {}, delay_seconds=seconds)
    return name


def test_with_nothing_delayed_there_is_nothing_to_do(store: Store) -> None:
    with changes(store) as changed:
        assert store.promote() == (0, None)
    assert changed == {}


def test_a_job_waits_until_it_is_due(store: Store) -> None:
    delayed(store, 2)
    store.now_ms = NOW + 1_999
    with changes(store) as changed:
        assert store.promote() == (0, 0.001)
    assert changed == {}


def test_a_due_job_is_ready_and_the_next_is_announced(store: Store) -> None:
    name = delayed(store, 2)
    delayed(store, 5)
    store.now_ms = NOW + 2_000
    with changes(store) as changed:
        assert store.promote() == (1, 3.0)
    assert changed == {
        f"job:{name}": {"state": "ready", "at": str(NOW + 2_000), "reason": ""},
        f"run:{name[:13]}": {"retry": "0", "ready": "1"},
        "delayed": {name: None},
        f"ready:{EXECUTOR}": {name: rank(burst=True)},
        "rerank": {name: NOW + BURST},
        "events": [("job", name, "retry", "ready", "")],
        "wake": ["1"],
    }


def test_one_call_promotes_no_more_than_it_was_asked_to(store: Store) -> None:
    for _ in range(3):
        delayed(store, 1)
    store.now_ms = NOW + 9_000
    assert store.promote(2) == (2, 0.0)
    assert store.promote(2) == (1, None)

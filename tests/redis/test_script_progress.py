"""progress.lua: how far an attempt is, told by that attempt alone."""

from __future__ import annotations

from marie_celery.model.retry import FailureKind
from marie_celery.store.reading import Reader
from marie_celery.store.store import Store
from tests.redis.redis_runs import WORKER, begin, changes, first_job, give_capacity, new_run, running
from tests.redis.redis_runs import job as new_job


def test_it_stands_in_the_job_and_nothing_else_changes(store: Store) -> None:
    name, token, _ = running(store)
    with changes(store) as changed:
        assert store.progress(name, token, 0.4, "page 4 of 10")
    assert changed == {
        f"job:{name}": {"progress": "0.4", "progress_note": "page 4 of 10", "progress_token": str(token)}
    }
    view = Reader(store.client, store.keys).job(name)
    assert (view.progress, view.progress_note) == (0.4, "page 4 of 10")


def test_an_old_token_changes_nothing(store: Store) -> None:
    name, token, _ = running(store)
    with changes(store) as changed:
        assert not store.progress(name, token - 1, 0.4, "")
    assert changed == {"counters": {"fencedWrites": "1"}}


def test_an_ended_job_is_not_heard(store: Store) -> None:
    name, token, _ = running(store)
    store.finish(name, token, WORKER, "1")
    with changes(store) as changed:
        assert not store.progress(name, token, 1, "")
    assert changed == {"counters": {"fencedWrites": "1"}}


def test_another_attempt_begins_without(store: Store) -> None:
    give_capacity(store)
    name = first_job(store, new_run([new_job()]))
    token = begin(store, name)
    store.progress(name, token, 0.9, "nearly")
    store.fail(name, token, WORKER, FailureKind.CRASH, {"type": "E", "message": ""})
    begin(store, name)
    view = Reader(store.client, store.keys).job(name)
    assert (view.progress, view.progress_note) == (None, "")

"""drain.lua: a worker out of service; declare.lua: what the settings say, and what operators have said since."""

from __future__ import annotations

import pytest

from marie_celery.capacity import look
from marie_celery.errors import UnknownWorker
from marie_celery.store.records import DrainedWorker
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    EXECUTOR,
    NOW,
    WORKER,
    begin,
    changes,
    first_job,
    give_capacity,
    job,
    new_run,
    running,
    submit,
)


class TestDraining:
    def test_its_slots_go_at_once_and_what_runs_is_left_in_peace(self, store: Store) -> None:
        give_capacity(store, slots=4, worker="w2")
        running(store)
        with changes(store) as changed:
            store.drain(WORKER, by="ann")
        assert changed == {
            "draining": [WORKER],
            f"executor:{EXECUTOR}": {"capacity": "4"},
            f"executor:{EXECUTOR}:workers": {WORKER: None},
            "events": [("worker", WORKER, "", "draining", "")],
        }
        (status,) = look(store)
        assert (status.notes, status.draining, status.used) == (["DRAINING"], (WORKER,), 1)

    def test_its_heartbeat_brings_none_back_but_renews_its_jobs(self, store: Store) -> None:
        _, _, attempt = running(store)
        store.drain(WORKER)
        store.now_ms = NOW + 1_000
        with changes(store) as changed:
            assert store.renew(WORKER, {"host": "h"}, {EXECUTOR: 10}, [attempt]) == []
        assert changed == {
            f"worker:{WORKER}": {"seen_at": str(NOW + 1_000), "executors": ""},
            "workers": {WORKER: NOW + 6_000},
            f"slots:{EXECUTOR}": {attempt: NOW + 61_000},
        }

    def test_it_holds_for_a_worker_that_comes_back_under_its_name(self, store: Store) -> None:
        give_capacity(store)
        store.drain(WORKER)
        store.leave(WORKER)
        give_capacity(store)
        (view,) = store.capacity()
        assert (view.capacity, view.workers) == (0, {})

    def test_undone_its_slots_come_with_the_next_heartbeat(self, store: Store) -> None:
        give_capacity(store, slots=3)
        store.drain(WORKER)
        with changes(store) as changed:
            store.take_back(WORKER, by="ann")
        assert changed == {"draining": None, "events": [("worker", WORKER, "", "back", "")]}
        with changes(store) as changed:
            give_capacity(store, slots=3)
        assert changed == {
            f"executor:{EXECUTOR}": {"capacity": "3"},
            f"executor:{EXECUTOR}:workers": {WORKER: "3"},
            "wake": ["1"],
        }

    def test_saying_it_twice_changes_nothing(self, store: Store) -> None:
        give_capacity(store)
        with changes(store) as changed:
            store.take_back(WORKER)
        assert changed == {}
        store.drain(WORKER)
        with changes(store) as changed:
            store.drain(WORKER)
        assert changed == {}

    def test_those_that_are_drained_are_told_with_what_they_still_run(self, store: Store) -> None:
        give_capacity(store, worker="w2")
        running(store)
        store.drain(WORKER)
        store.drain("w2")
        store.leave("w2")
        assert store.drained() == [DrainedWorker(WORKER, True, 1), DrainedWorker("w2", False, 0)]

    def test_one_that_nobody_knows_is_an_error(self, store: Store) -> None:
        give_capacity(store)
        for order in (store.drain, store.take_back):
            with pytest.raises(UnknownWorker, match=f"'w9'; there are {WORKER}"):
                order("w9")


class TestDeclaring:
    def test_a_target_counts_when_the_settings_are_new(self, store: Store) -> None:
        with changes(store) as changed:
            store.declare_target(EXECUTOR, 4)
        assert changed == {
            "declared": {f"target {EXECUTOR}": "4"},
            "executors": [EXECUTOR],
            f"executor:{EXECUTOR}": {"target": "4"},
            "wake": ["1"],
        }

    def test_what_an_operator_set_stays_until_the_settings_change(self, store: Store) -> None:
        store.declare_target(EXECUTOR, 4)
        store.set_target(EXECUTOR, 9)
        with changes(store) as changed:
            store.declare_target(EXECUTOR, 4)
        assert changed == {}
        store.declare_target(EXECUTOR, None)
        assert store.client.hget(store.keys.executor(EXECUTOR), "target") is None

    def test_the_same_is_true_of_weights(self, store: Store) -> None:
        store.declare_weight("acme", 3)
        store.set_weight("acme", 0.5)
        store.declare_weight("acme", 3)
        assert store.weights() == {"acme": 0.5}
        store.declare_weight("acme", 2)
        assert store.weights() == {"acme": 2.0}


class TestShares:
    def test_nobody_shares_what_no_tenant_has_used(self, store: Store) -> None:
        begin_one(store, "")
        assert store.shares() == []

    def test_each_tenant_with_work_has_its_share(self, store: Store) -> None:
        store.set_weight("acme", 3)
        for tenant in ("acme", "acme", "zeta"):
            begin_one(store, tenant)
        with changes(store) as changed:
            acme, zeta = store.shares()
        assert changed == {}
        assert (acme.executor, acme.tenant, acme.weight, acme.share, acme.at_work) == (EXECUTOR, "acme", 3.0, 0.75, 2)
        assert (zeta.tenant, zeta.weight, zeta.share, zeta.waiting) == ("zeta", 1.0, 0.25, 0)
        assert max(acme.lag_seconds, zeta.lag_seconds) > 0
        assert min(acme.lag_seconds, zeta.lag_seconds) == 0

    def test_who_names_none_is_one_of_them_and_what_waits_is_counted(self, store: Store) -> None:
        give_capacity(store)
        submit(store, new_run([job("a"), job("b")]))
        submit(store, new_run([job("c", tenant="acme")]))
        nobody, acme = store.shares()
        assert (nobody.tenant, nobody.waiting, nobody.share) == ("", 2, 0.5)
        assert (acme.tenant, acme.waiting, acme.at_work) == ("acme", 1, 0)


def begin_one(store: Store, tenant: str) -> None:
    give_capacity(store)
    fields = {"tenant": tenant} if tenant else {}
    begin(store, first_job(store, new_run([job("a", estimate=1_000, **fields)])))

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI

from marie_celery.store.store import Store
from tests.redis.redis_runs import EXECUTOR, WORKER, begin, changes, dump, first_job, give_capacity, job, new_run
from tests.redis.resource_kit import declare, needing, ready_jobs
from tests.unit.web.web_kit import ask


class TestResources:
    def test_are_listed_with_what_their_kind_has(self, app: FastAPI, store: Store) -> None:
        declare(store, "gpu", kind="discrete", items="g1,g2", on_shortage="skip")
        declare(store, "mails", kind="rate", rate=2, burst=3)
        declare(store, "customer", kind="concurrency", limit=1)
        for name in ready_jobs(store, needing("a", gpu=1, customer=(1, "acme"))):
            begin(store, name)
        customer, gpu, mails = ask(app, "/api/resources").result["resources"]
        assert (customer["used"], customer["used_by_key"], customer["on_shortage"]) == (1, {"acme": 1}, None)
        assert gpu == {
            "name": "gpu",
            "kind": "discrete",
            "size": 2,
            "used": 1,
            "waiting": 0,
            "holders": 1,
            "on_shortage": "skip",
            "items": ["g1", "g2"],
            "free": ["g2"],
            "leaving": [],
            "declared": {"items": ["g1", "g2"]},
            "current": {"items": ["g1", "g2"]},
        }
        assert (mails["size"], mails["tokens"], mails["current"]) == (3, 3.0, {"rate": 2.0, "burst": 3})

    def test_one_of_them_has_its_holders_and_its_lines(self, app: FastAPI, store: Store) -> None:
        declare(store, quantity=1)
        first, second, third = ready_jobs(store, needing("a", gpu=1), needing("b", gpu=1), needing("c", gpu=1))
        begin(store, first)
        found = ask(app, "/api/resources/gpu?limit=1").result
        assert found["holdings"] == [
            {"attempt": f"{first}.1", "amount": 1, "key": "", "items": [], "worker": WORKER}
        ]
        waiter = {"job_id": second, "name": "b", "executor": EXECUTOR, "amount": 1}
        assert found["lines"] == [{"key": "", "waiting": 2, "first": [waiter]}]
        assert third not in str(found)

    def test_an_unknown_one_is_not_found(self, app: FastAPI) -> None:
        for answer in (ask(app, "/api/resources/gone"), ask(app, "/api/resources/gone/resize", "POST", {"by": 1})):
            assert (answer.status, "there is no resource 'gone'" in answer.error) == (404, True)


class TestResizing:
    def test_is_a_difference_and_tells_before_and_after(self, app: FastAPI, store: Store) -> None:
        declare(store, quantity=2)
        answer = ask(app, "/api/resources/gpu/resize", "POST", {"by": 3}).result
        assert answer == {"name": "gpu", "before": {"quantity": 2}, "after": {"quantity": 5}}
        assert dump(store)["events"][-1][:4] == ("resource", "gpu", "", "resized")

    def test_takes_items_and_rates(self, app: FastAPI, store: Store) -> None:
        declare(store, "gpu", kind="discrete", items="a,b")
        declare(store, "mails", kind="rate", rate=2, burst=3)
        answer = ask(app, "/api/resources/gpu/resize", "POST", {"add": ["c"], "remove": ["a"]}).result
        assert answer["after"] == {"items": ["b", "c"]}
        answer = ask(app, "/api/resources/mails/resize", "POST", {"rate": -0.5, "by": 1}).result
        assert answer["after"] == {"rate": 1.5, "burst": 4}

    @pytest.mark.parametrize(
        ("body", "status"),
        [
            (None, 422),
            ([], 422),
            ({"by": "2"}, 422),
            ({"by": 1.5}, 422),
            ({"by": 10**9}, 422),
            ({"to": 5}, 422),
            ({"rate": "fast"}, 422),
            ({"by": -3}, 409),
            ({"rate": 1}, 409),
            ({"add": ["x y"]}, 409),
        ],
    )
    def test_what_cannot_be_is_refused(self, app: FastAPI, store: Store, body: Any, status: int) -> None:
        declare(store, quantity=2)
        with changes(store) as changed:
            answer = ask(app, "/api/resources/gpu/resize", "POST", body)
        assert answer.status == status
        assert answer.error
        assert changed == {}


def test_tenants_are_told_with_their_shares(app: FastAPI, store: Store) -> None:
    assert ask(app, "/api/tenants").result == {"weights": {}, "shares": []}
    store.set_weight("acme", 3)
    give_capacity(store)
    begin(store, first_job(store, new_run([job("a", estimate=2_000, tenant="acme")])))
    assert ask(app, "/api/tenants").result == {
        "weights": {"acme": 3.0},
        "shares": [
            {
                "executor": EXECUTOR,
                "tenant": "acme",
                "weight": 3.0,
                "share": 1.0,
                "lag_seconds": 0.0,
                "waiting": 0,
                "at_work": 1,
            }
        ],
    }

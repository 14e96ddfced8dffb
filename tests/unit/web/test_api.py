from __future__ import annotations

from typing import Any

import pytest
from fakeredis import FakeServer
from fastapi import FastAPI

from marie_celery import Marie
from marie_celery.capacity import look, report
from marie_celery.model.retry import FailureKind, RetryPolicy
from marie_celery.store.store import Store
from tests.redis.redis_runs import (
    EXECUTOR,
    NOW,
    WORKER,
    begin,
    dump,
    first_job,
    give_capacity,
    job,
    new_run,
    put_in_force,
    submit,
)
from tests.redis.resource_kit import declare, needing, ready_jobs
from tests.unit.web.web_kit import ask


def only(items: list[Any]) -> Any:
    (item,) = items
    return item


READING = [
    *("/", "/healthz", "/metrics"),
    *("/api/capacity", "/api/executors", "/api/runs", "/api/planner", "/api/schedulers"),
    *("/api/resources", "/api/tenants"),
]


@pytest.mark.parametrize("path", READING)
def test_looking_changes_nothing(app: FastAPI, store: Store, path: str) -> None:
    give_capacity(store)
    begin(store, first_job(store))
    before = dump(store)
    assert ask(app, path).status == 200
    assert dump(store) == before


@pytest.mark.parametrize("path", [path for path in READING if path != "/healthz"])
def test_an_empty_cluster_has_answers_too(app: FastAPI, path: str) -> None:
    assert ask(app, path).status == 200


def test_capacity_is_the_report(app: FastAPI, store: Store) -> None:
    give_capacity(store, slots=2)
    begin(store, first_job(store))
    answer = ask(app, "/api/capacity")
    assert answer.json == report(look(store))
    assert only(answer.result["slots"])["holders"] == [WORKER]


def test_why_tells_what_a_job_waits_for(app: FastAPI, store: Store) -> None:
    waiting = first_job(store)
    answer = ask(app, f"/api/why/{waiting}").result
    assert answer["state"] == "ready"
    assert "no_worker" in {reason["code"] for reason in answer["reasons"]}
    assert ask(app, "/api/why/0123456789abc").status == 404


class TestExecutors:
    def one(self, app: FastAPI) -> dict[str, Any]:
        found: dict[str, Any] = only(ask(app, "/api/executors").result["executors"])
        return found

    def test_tells_what_waits_and_who_serves_it(self, app: FastAPI, store: Store) -> None:
        give_capacity(store, slots=1)
        run = new_run([job("a", estimate=3_000), job("b", estimate=5_000), job("c", estimate=7_000)])
        begin(store, first_job(store, run))
        submit(store, new_run([job("d", estimate=1_000)]))
        store.now_ms = NOW + 20_000
        store.renew(WORKER, {"host": "h", "pid": "7", "pool": "prefork"}, {EXECUTOR: 1})
        store.now_ms = NOW + 20_500
        found = self.one(app)
        backlog, workers = found.pop("backlog"), found.pop("workers")
        assert found == {
            "name": EXECUTOR,
            "paused": False,
            "notes": "",
            "capacity": 1,
            "target": 1,
            "used": 1,
            "available": 0,
            "ready": 2,
            "new": 1,
            "short": 0,
            "oldest_wait_seconds": 20.5,
        }
        assert (backlog["jobs"], backlog["seconds"], backlog["sampled"]) == (3, 13.0, False)
        assert [band["jobs"] for band in backlog["by_age"]] == [0, 0, 3, 0, 0, 0]
        facts = {"host": "h", "pid": "7", "pool": "prefork"}
        assert workers == [{"name": WORKER, "slots": 1, "draining": False, **facts, "seen_seconds_ago": 0.5}]

    def test_what_is_short_of_a_resource_waits_too(self, app: FastAPI, store: Store) -> None:
        declare(store, quantity=1)
        holder, *_ = ready_jobs(store, needing("a", gpu=1), needing("b", gpu=1), needing("c"))
        begin(store, holder)
        store.now_ms = NOW + 2_000
        found = self.one(app)
        backlog = found["backlog"]
        assert (found["ready"], found["new"], found["short"]) == (1, 0, 1)
        assert (backlog["jobs"], backlog["seconds"], backlog["short_seconds"]) == (2, 2.0, 1.0)

    def test_the_jobs_of_all_tenants_count(self, app: FastAPI, store: Store) -> None:
        give_capacity(store)
        begin(store, first_job(store, new_run([job("a"), job("b", estimate=2_000)])))
        for tenant in ("acme", "zeta"):
            submit(store, new_run([job("c", estimate=3_000, tenant=tenant)]))
        found = self.one(app)
        assert (found["ready"], found["new"], found["backlog"]["seconds"]) == (1, 2, 8.0)
        put_in_force(store, "slack")
        assert self.one(app)["backlog"]["jobs"] == 3, "also while they wait for a new rank"

    def test_a_draining_worker_is_still_listed(self, app: FastAPI, store: Store) -> None:
        give_capacity(store)
        begin(store, first_job(store))
        store.renew(WORKER, {"host": "h"}, {})
        worker = only(self.one(app)["workers"])
        assert (worker["slots"], worker["draining"]) == (0, True)

    def test_what_was_learned_counts_as_an_estimate(self, app: FastAPI, store: Store) -> None:
        give_capacity(store)
        name = first_job(store)
        token = begin(store, name)
        store.now_ms = NOW + 4_000
        store.finish(name, token, WORKER, "1")
        first_job(store)
        assert self.one(app)["backlog"]["seconds"] == 4.0

    def test_without_any_estimate_the_work_is_unknown(self, app: FastAPI, store: Store) -> None:
        give_capacity(store)
        assert self.one(app)["backlog"]["seconds"] == 0.0
        first_job(store)
        assert self.one(app)["backlog"]["seconds"] is None

    def test_of_very_many_some_are_looked_at(self, app: FastAPI, store: Store) -> None:
        submit(store, new_run([job(f"j{number}", estimate=2_000) for number in range(500)]))
        store.now_ms = NOW + 5_000
        found = self.one(app)
        backlog = found["backlog"]
        assert (found["new"], backlog["jobs"], backlog["seconds"], backlog["sampled"]) == (500, 500, 1_000.0, True)
        assert [band["jobs"] for band in backlog["by_age"]] == [0, 500, 0, 0, 0, 0]

    def test_it_can_be_paused_and_resumed(self, app: FastAPI, store: Store) -> None:
        give_capacity(store)
        paused = ask(app, f"/api/executors/{EXECUTOR}/pause", "POST")
        assert paused.result == {"name": EXECUTOR, "paused": True}
        assert (self.one(app)["paused"], self.one(app)["notes"]) == (True, "PAUSED")
        assert dump(store)["events"][-1][:4] == ("executor", EXECUTOR, "", "paused")
        assert ask(app, f"/api/executors/{EXECUTOR}/resume", "POST").result == {"name": EXECUTOR, "paused": False}
        assert self.one(app)["paused"] is False

    @pytest.mark.parametrize("verb", ["pause", "resume"])
    def test_an_unknown_one_cannot(self, app: FastAPI, verb: str) -> None:
        answer = ask(app, f"/api/executors/gone/{verb}", "POST")
        assert (answer.status, "'gone'" in answer.error) == (404, True)


    def test_its_target_can_be_set_and_taken_away(self, app: FastAPI, store: Store) -> None:
        give_capacity(store, slots=2)
        path = f"/api/executors/{EXECUTOR}/target"
        assert ask(app, path, "POST", {"target": 5}).result == {"name": EXECUTOR, "target": 5}
        assert (self.one(app)["capacity"], self.one(app)["notes"]) == (5, "TARGET")
        assert ask(app, path, "POST", {"target": None}).result["target"] is None
        assert self.one(app)["capacity"] == 2

    @pytest.mark.parametrize("body", [None, {}, {"target": -1}, {"target": "5"}, {"target": 1.5}, {"targets": 1}])
    def test_a_bad_target_is_refused(self, app: FastAPI, store: Store, body: Any) -> None:
        give_capacity(store, slots=2)
        assert ask(app, f"/api/executors/{EXECUTOR}/target", "POST", body).status == 422
        assert self.one(app)["capacity"] == 2

    def test_an_unknown_one_gets_no_target(self, app: FastAPI) -> None:
        assert ask(app, "/api/executors/gone/target", "POST", {"target": 1}).status == 404


class TestRuns:
    def test_the_newest_come_first(self, app: FastAPI, store: Store) -> None:
        runs = [submit(store) for _ in range(3)]
        assert [run["run_id"] for run in ask(app, "/api/runs?limit=2").result["runs"]] == runs[:0:-1]

    def test_one_run_has_its_jobs_and_their_errors_but_no_results(self, app: FastAPI, store: Store) -> None:
        give_capacity(store)
        run = submit(store, new_run([job("a"), job("b")], policy=RetryPolicy(retry_limit=0)))
        name = f"{run}-000000"
        store.fail(name, begin(store, name), WORKER, FailureKind.FAILURE, {"type": "ValueError", "message": "no"})
        found = ask(app, f"/api/runs/{run}").result
        assert (found["run_id"], found["state"], found["counts"]["failed"]) == (run, "active", 1)
        assert [each["name"] for each in found["job_list"]] == ["a", "b"]
        assert found["job_list"][0]["error"] == {"type": "ValueError", "message": "no"}
        assert found["more_jobs"] == 0
        assert "output" not in found

    def test_of_a_large_run_the_first_jobs_are_shown(self, app: FastAPI, store: Store) -> None:
        run = submit(store, new_run([job(f"j{number}") for number in range(5)]))
        found = ask(app, f"/api/runs/{run}?limit=2").result
        assert ([each["name"] for each in found["job_list"]], found["more_jobs"]) == (["j0", "j1"], 3)

    @pytest.mark.parametrize("suffix", ["", ":done", ":specs", "x"])
    def test_an_unknown_run_or_another_key_is_not_found(self, app: FastAPI, store: Store, suffix: str) -> None:
        run = submit(store) if suffix else "0123456789abc"
        answer = ask(app, f"/api/runs/{run}{suffix}")
        assert (answer.status, "there is no run" in answer.error) == (404, True)

    @pytest.mark.parametrize("query", ["limit=x", "limit=0", "limit=501", "limit=-1"])
    def test_a_bad_limit_is_refused_by_name(self, app: FastAPI, query: str) -> None:
        answer = ask(app, f"/api/runs?{query}")
        assert (answer.status, answer.error.startswith("limit: ")) == (422, True)


class TestSchedulers:
    def test_show_their_graphs_and_whether_they_are_alive(self, app: FastAPI, store: Store) -> None:
        store.enlist("s1", {"host": "h", "pid": "1", "graph": '{"turns": {"high": 3}}'}, exclusive=False)
        found = only(ask(app, "/api/schedulers").result["schedulers"])
        assert found == {
            "id": "s1",
            "host": "h",
            "pid": "1",
            "alive": True,
            "seen_seconds_ago": 0.0,
            "exclusive": False,
            "graph": {"turns": {"high": 3}},
        }
        store.now_ms = NOW + 60_000
        assert only(ask(app, "/api/schedulers").result["schedulers"])["alive"] is False


class TestTrouble:
    def test_what_is_not_there(self, app: FastAPI) -> None:
        assert ask(app, "/nowhere").error == "there is nothing at /nowhere"
        assert ask(app, "/nowhere").status == 404

    def test_what_is_not_possible(self, app: FastAPI) -> None:
        answer = ask(app, "/api/capacity", "POST")
        assert (answer.status, answer.headers["allow"]) == (405, "GET")
        assert answer.error == "POST is not possible here"

    @pytest.mark.parametrize("path", [path for path in READING if path not in ("/", "/healthz")])
    def test_without_redis_there_is_a_clear_text_and_no_password(
        self, app: FastAPI, server: FakeServer, path: str
    ) -> None:
        server.connected = False
        answer = ask(app, path)
        assert answer.status == 503
        assert "no Redis at redis://***@127.0.0.1:1/0" in answer.error
        assert "secret" not in answer.error

    def test_without_redis_nothing_can_be_paused(self, app: FastAPI, server: FakeServer) -> None:
        server.connected = False
        assert ask(app, "/api/executors/ocr/pause", "POST").status == 503

    def test_redis_that_refuses_is_named_as_the_cause(self, app: FastAPI, store: Store) -> None:
        store.client.set(store.keys.runs, "not a sorted set")
        answer = ask(app, "/api/runs")
        assert (answer.status, answer.error.startswith("Redis failed: ")) == (503, True)

    def test_a_surprise_is_told_without_its_details(self, app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Marie, "reader", property(lambda marie: 1 / 0))
        answer = ask(app, "/api/runs")
        assert (answer.status, "went wrong" in answer.error) == (500, True)


class TestHealth:
    def test_says_ok_to_everybody_and_leaves_no_trace(self, app: FastAPI, store: Store) -> None:
        assert ask(app, "/healthz").json == {"status": "OK"}
        assert ask(app, "/healthz", "HEAD").status == 200
        assert store.client.keys() == []

    def test_without_redis_is_bad_and_does_not_say_where_it_should_be(self, app: FastAPI, server: FakeServer) -> None:
        server.connected = False
        answer = ask(app, "/healthz")
        assert (answer.status, answer.error) == (503, "Redis does not serve: ConnectionError")


def test_the_index_names_every_path_once(app: FastAPI) -> None:
    text = ask(app, "/").body.decode()
    changing = ("/api/executors/{name}/pause", "/api/executors/{name}/target", "/api/resources/{name}/resize")
    for path in (*READING[1:], "/api/runs/{run_id}", "/api/resources/{name}", *changing):
        assert text.count(f" {path}</code>") == 1

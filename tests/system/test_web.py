"""`marie web` as a process: over the network, on a real Redis."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import redis
from waiting import eventually

from marie_celery.cluster import Cluster
from marie_celery.embedded import EmbeddedServer

HERE = Path(__file__).parent
MARIE = (
    "from marie_celery.cli import main; from marie_celery.cli.web import web; "
    "main.add_command(web); main(prog_name='marie')"
)


def environment(url: str, **more: str) -> dict[str, str]:
    path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    urls = {"CELERY_BROKER_URL": url, "MARIE_REDIS_URL": url}
    return {**os.environ, **urls, "PYTHONPATH": path, "MARIE_CONFIG": "", **more}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", MARIE, "-A", "system_app", "web", *arguments]


class Web:
    """A running `marie web`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        self.announced = process.stdout.readline()
        self.port = int(self.announced.rstrip("/\n").rpartition(":")[2])

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            body = answer.read().decode()
            return answer.status, json.loads(body) if body.startswith("{") else body
        finally:
            connection.close()


@contextmanager
def web(url: str, *arguments: str, **more: str) -> Iterator[Web]:
    process = subprocess.Popen(
        command("--port", "0", *arguments),
        env=environment(url, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Web(process)
    finally:
        process.terminate()
        process.communicate(timeout=20)


def refused(*arguments: str, **more: str) -> str:
    given = environment("redis://127.0.0.1:1/0", **more)
    done = subprocess.run(command(*arguments), env=given, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


@pytest.fixture
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer() as running:
        yield running


def test_a_live_cluster_is_told_by_every_path(cluster: Cluster, dags: ModuleType) -> None:
    run = dags.chain.submit(3)
    run.wait(timeout=30)
    with web(cluster.server.url) as served:

        def main_slots() -> dict[str, Any]:
            slots = served.ask("/api/capacity")[1]["result"]["slots"]
            return next((each for each in slots if each["name"] == "main"), {})

        eventually(lambda: main_slots().get("used") == 0)
        assert (main_slots()["capacity"], main_slots()["available"], main_slots()["notes"]) == (2, 2, "")
        executors = served.ask("/api/executors")[1]["result"]["executors"]
        (worker,) = next(each for each in executors if each["name"] == "main")["workers"]
        assert (worker["slots"], worker["pool"]) == (2, "prefork")
        status, told = served.ask(f"/api/runs/{run.id}")
        assert (status, told["result"]["state"], len(told["result"]["job_list"])) == (200, "completed", 3)
        schedulers = served.ask("/api/schedulers")[1]["result"]["schedulers"]
        assert any(each["alive"] and each["graph"]["nodes"] for each in schedulers)
        assert 'marie_slots_capacity{executor="main"} 2.0' in served.ask("/metrics")[1]
        assert served.ask("/healthz") == (200, {"status": "OK"})


def test_a_running_job_names_its_worker(cluster: Cluster, dags: ModuleType, tmp_path: Path) -> None:
    marker = tmp_path / "runs"
    run = dags.single.submit("run_until", [str(marker)])
    eventually(marker.exists)
    try:
        with web(cluster.server.url) as served:
            slots = served.ask("/api/capacity")[1]["result"]["slots"]
            (main,) = [each for each in slots if each["name"] == "main"]
            assert main["used"] >= 1
            assert any(holder.startswith("worker-main@") for holder in main["holders"])
    finally:
        marker.unlink()
        run.wait(timeout=30)


def test_it_outlives_redis_and_tells_clearly_when_it_is_away(server: EmbeddedServer) -> None:
    with web(server.url) as served:
        assert served.ask("/api/capacity")[0] == 200
        server.stop()
        status, told = served.ask("/api/capacity")
        assert (status, f"no Redis at {server.url}" in told["error"]) == (503, True)
        assert served.ask("/healthz")[0] == 503
        server.start()
        assert served.ask("/healthz")[0] == 200
        assert served.ask("/api/capacity")[0] == 200


def break_by_replication(client: redis.Redis) -> None:
    client.replicaof("127.0.0.1", 1)


def break_by_memory(client: redis.Redis) -> None:
    client.config_set("maxmemory", 1)


def break_by_rights(client: redis.Redis) -> None:
    client.acl_setuser("default", commands=["-eval", "-evalsha", "-script"])


@pytest.mark.parametrize(
    ("damage", "cause"),
    [
        (break_by_replication, "ReadOnlyError"),
        (break_by_memory, "OutOfMemoryError"),
        (break_by_rights, "NoPermissionError"),
    ],
)
def test_a_redis_that_answers_but_cannot_work_is_not_healthy(
    server: EmbeddedServer, damage: Callable[[redis.Redis], None], cause: str
) -> None:
    with web(server.url) as served, redis.Redis.from_url(server.url) as client:
        assert served.ask("/healthz") == (200, {"status": "OK"})
        damage(client)
        assert client.ping()
        assert served.ask("/healthz") == (503, {"error": f"Redis does not serve: {cause}"})


def test_redis_that_has_forgotten_the_scripts_is_healthy(server: EmbeddedServer) -> None:
    with web(server.url) as served, redis.Redis.from_url(server.url) as client:
        served.ask("/api/capacity")
        client.script_flush()
        assert served.ask("/healthz")[0] == 200
        assert served.ask("/api/capacity")[0] == 200


def test_beyond_this_machine_it_asks_for_the_token(server: EmbeddedServer) -> None:
    with web(server.url, "--host", "0.0.0.0", MARIE_WEB_TOKEN="s3cret") as served:
        assert served.ask("/api/capacity")[0] == 401
        assert served.ask("/api/capacity", Authorization="Bearer s3cret")[0] == 200
        assert served.ask("/healthz")[0] == 200


def test_on_this_machine_it_serves_no_other_name(server: EmbeddedServer) -> None:
    with web(server.url) as served:
        assert served.announced == f"marie web on http://127.0.0.1:{served.port}/\n"
        assert served.ask("/api/capacity", Host="evil.example")[0] == 421


def test_it_ends_politely(server: EmbeddedServer) -> None:
    with web(server.url) as served:
        served.ask("/healthz")
        served.process.terminate()
        output, errors = served.process.communicate(timeout=20)
    assert (served.process.returncode, output, errors) == (0, "marie web stopped\n", "")


def test_a_mistake_is_one_clear_line() -> None:
    assert "a token is needed: set MARIE_WEB_TOKEN" in refused("--host", "0.0.0.0", "--port", "0", MARIE_WEB_TOKEN="")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen on 127.0.0.1:{port}: " in refused("--port", str(port))


@pytest.mark.parametrize("missing", ["fastapi", "uvicorn", "prometheus_client"])
def test_without_the_extra_it_says_what_to_install(missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; {MARIE}"
    line = [sys.executable, "-c", code, "-A", "system_app", "web"]
    done = subprocess.run(line, env=environment("redis://127.0.0.1:1/0"), capture_output=True, text=True, timeout=60)
    expected = f"Error: marie_celery.web needs '{missing}': pip install 'marie-celery[web]'\n"
    assert (done.returncode, done.stderr) == (1, expected)

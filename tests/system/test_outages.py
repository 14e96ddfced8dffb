"""Redis away, restarting, read-only, forgetful; brokers gone; pools that hang. Nobody has to be restarted."""

from __future__ import annotations

import os
import signal
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
import trustme
from guarantee_app import layered_result
from own_cluster import OwnCluster, own_cluster
from waiting import eventually

from marie_celery.clock import SystemClock
from marie_celery.embedded import EmbeddedServer
from marie_celery.errors import ServerError
from marie_celery.store.connection import check_server, connect
from marie_celery.store.patience import patient
from tests.chaos.proxy import Proxy

RUN_SECONDS = 3.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnCluster]:
    with own_cluster(tmp_path_factory.mktemp("outages"), run=RUN_SECONDS) as made:
        made.start_scheduler()
        made.start_ready_worker("first")
        yield made


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(data_dir=tmp_path / "alone") as running:
        yield running


monotonic = SystemClock().monotonic


def test_work_resumes_soon_after_a_restart_of_redis_and_nothing_is_lost(cluster: OwnCluster) -> None:
    dags, before = cluster.dags, {name: process.pid for name, process in cluster.processes.items()}
    runs = [dags.layered.submit(5, 20) for _ in range(3)]
    eventually(lambda: runs[0].status().done >= 20)
    cluster.server.kill()
    cluster.server.start()
    back_ms = dags.now_ms()
    assert [run.result(timeout=60) for run in runs] == [layered_result(5, 20)] * 3
    begun = [int(event["at"]) for run in runs for event in dags.events(run.id) if event["to"] == "active"]
    assert (min(at for at in begun if at > back_ms) - back_ms) / 1000 < 5
    completed = [event["job"] for run in runs for event in dags.events(run.id) if event["to"] == "completed"]
    assert len(completed) == len(set(completed)) == 3 * 5 * 21
    cluster.check()
    assert {name: process.pid for name, process in cluster.processes.items()} == before, "nobody was restarted"


def test_a_job_that_ends_while_redis_is_away_is_not_done_again(cluster: OwnCluster, tmp_path: Path) -> None:
    dags, marker = cluster.dags, tmp_path / "running"
    run = dags.single.submit("once", [str(marker)])
    eventually(marker.exists)
    cluster.server.kill()
    marker.unlink()
    gone = monotonic()
    eventually(lambda: monotonic() > gone + 2)
    cluster.server.start()
    assert run.result(timeout=30) == "first@here"
    assert [job.attempt for job in run.jobs()] == [1]


def test_a_job_outlives_an_outage_that_is_longer_than_its_lease(cluster: OwnCluster, tmp_path: Path) -> None:
    dags, marker = cluster.dags, tmp_path / "running"
    # The worker may still be on its way back from the outage of another test: only then is a job sent to it in vain.
    assert dags.layered.submit(1, 1).result(timeout=30) == 1
    run = dags.single.submit("once", [str(marker)])
    eventually(marker.exists)
    cluster.server.kill()
    gone = monotonic()
    eventually(lambda: monotonic() > gone + RUN_SECONDS + 1.5)
    cluster.server.start()
    # The scheduler and the worker are both back at work before the job may end.
    assert dags.layered.submit(1, 1).result(timeout=30) == 1
    marker.unlink()
    assert run.result(timeout=30) == "first@here"
    assert [job.attempt for job in run.jobs()] == [1], "its worker was well all the time"


def test_forgotten_scripts_are_loaded_again_by_whoever_needs_them(cluster: OwnCluster) -> None:
    dags = cluster.dags
    run = dags.layered.submit(4, 15)
    for reached in (10, 30, 50):
        eventually(lambda reached=reached: run.status().done >= reached)  # type: ignore[misc]
        dags.marie.store.client.script_flush()
        dags.marie.store.client.function_flush()
    assert run.result(timeout=30) == layered_result(4, 15)


def test_a_pool_whose_processes_hang_keeps_no_work_from_others(cluster: OwnCluster, tmp_path: Path) -> None:
    dags = cluster.dags
    store = dags.marie.store
    frozen = cluster.children("first")
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    try:
        run = dags.layered.submit(1, 2)
        eventually(lambda: "first@here" not in dags.offered(), seconds=10)
        assert "take nothing on" in store.client.hget(store.keys.worker("first@here"), "trouble")
        cluster.start_ready_worker("second")
        assert run.result(timeout=30) == 2
        assert {job.worker for job in run.jobs()} == {"second@here"}
    finally:
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)
    eventually(lambda: "first@here" in dags.offered(), seconds=10)
    assert not store.client.hget(store.keys.worker("first@here"), "trouble")
    cluster.end("second")


def test_a_worker_without_its_broker_offers_nothing_until_it_is_back(tmp_path: Path) -> None:
    with (
        EmbeddedServer(data_dir=tmp_path / "broker") as broker,
        own_cluster(tmp_path, CELERY_BROKER_URL=broker.url) as cluster,
    ):
        dags = cluster.dags
        cluster.start_scheduler()
        name = cluster.start_ready_worker("worker")
        assert dags.layered.submit(1, 2).result(timeout=30) == 2
        broker.kill()
        eventually(lambda: not dags.offered(), seconds=10)
        store = dags.marie.store
        assert "no connection" in store.client.hget(store.keys.worker(name), "trouble")
        run = dags.layered.submit(1, 2)
        broker.start()
        assert run.result(timeout=30) == 2
        cluster.check()


def test_a_client_waits_as_long_as_it_is_told_and_no_longer(server: EmbeddedServer) -> None:
    at_once, later = connect(server.url, wait_seconds=0.0), connect(server.url, wait_seconds=1.0)
    assert at_once.ping() and later.ping()
    server.restart()
    assert at_once.ping(), "a connection that has died is made anew without a wait"
    server.kill()
    for client, least, most in ((at_once, 0.0, 0.5), (later, 0.9, 2.0)):
        begin = monotonic()
        with pytest.raises(redis.ConnectionError):
            client.ping()
        assert least <= monotonic() - begin < most
    with pytest.raises(ServerError, match="no Redis at"):
        check_server(at_once, server.url)
    back = threading.Thread(target=server.start)
    back.start()
    with patient(30):
        assert at_once.ping()
    back.join()


def test_a_primary_that_was_made_a_replica_is_waited_out(server: EmbeddedServer) -> None:
    client = connect(server.url, wait_seconds=0.0)
    client.set("key", "before")
    client.replicaof("127.0.0.1", "1")
    with pytest.raises(redis.ReadOnlyError):
        client.set("key", "refused")
    promoted = threading.Timer(0.5, lambda: connect(server.url).replicaof("NO", "ONE"))
    promoted.start()
    with patient(30):
        client.set("key", "after")
    promoted.join()
    assert client.get("key") == "after"


def test_scripts_in_a_pipeline_survive_a_flush(server: EmbeddedServer) -> None:
    client = connect(server.url)
    script = client.register_script("return redis.call('INCR', KEYS[1])")
    assert script(keys=["n"]) == 1
    client.script_flush()
    with client.pipeline() as pipe:
        script(keys=["n"], client=pipe)
        script(keys=["n"], client=pipe)
        assert pipe.execute() == [2, 3]


def test_a_wrong_password_is_an_error_at_once(tmp_path: Path) -> None:
    with EmbeddedServer(extra={"requirepass": "right"}) as locked:
        begin = monotonic()
        with pytest.raises(redis.AuthenticationError):
            connect(locked.url.replace("right", "wrong"), wait_seconds=30).ping()
        assert monotonic() - begin < 5


def test_a_unix_socket_will_do(tmp_path: Path) -> None:
    with EmbeddedServer(unix_socket=tmp_path / "redis.sock") as local:
        assert connect(local.url).ping()
        assert connect(local.url.replace("unix://", "redis+socket://")).ping()


def test_tls_is_spoken_and_checked(server: EmbeddedServer, tmp_path: Path) -> None:
    authority, certificate = trustme.CA(), tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(certificate)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    with Proxy(server.port, tls) as proxy:
        url = f"rediss://127.0.0.1:{proxy.port}/0"
        # As Celery spells it.
        with connect(f"{url}?ssl_cert_reqs=CERT_REQUIRED&ssl_ca_certs={certificate}") as client:
            assert client.ping()
        with pytest.raises(redis.ConnectionError, match="certificate"):
            connect(url, wait_seconds=0.0).ping()

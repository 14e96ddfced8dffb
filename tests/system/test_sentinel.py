"""A failover behind Redis Sentinel: the primary is killed, its replica takes over, work goes on without a restart."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from guarantee_app import PRIMARY, layered_result
from own_cluster import own_cluster
from waiting import eventually

from marie_celery.embedded import EmbeddedServer, find_executable
from marie_celery.errors import ConfigError, ServerError
from marie_celery.store.connection import check_server, connect, connect_async
from marie_celery.store.sentinel import with_transport_options

SENTINELS = 3
DOWN_MS = 1_000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def sentinels(primary: EmbeddedServer, directory: Path) -> Iterator[str]:
    """Their URL, as Celery writes it."""
    with contextlib.ExitStack() as running:
        ports = [free_port() for _ in range(SENTINELS)]
        for port in ports:
            config = directory / f"sentinel-{port}.conf"
            config.write_text(
                f"port {port}\nbind 127.0.0.1\ndir {directory}\n"
                f"sentinel monitor {PRIMARY} 127.0.0.1 {primary.port} 2\n"
                f"sentinel down-after-milliseconds {PRIMARY} {DOWN_MS}\n"
                f"sentinel failover-timeout {PRIMARY} 3000\n"
            )
            log = running.enter_context((directory / f"sentinel-{port}.log").open("w"))
            process = subprocess.Popen([find_executable(), str(config), "--sentinel"], stdout=log, stderr=log)
            running.callback(process.wait)
            running.callback(process.kill)
        for port in ports:
            eventually(lambda port=port: knows_all(port))  # type: ignore[misc]
        yield ";".join(f"sentinel://127.0.0.1:{port}/0" for port in ports)


def knows_all(port: int) -> bool:
    """Has this sentinel found the replica and the others?"""
    try:
        with redis.Redis(port=port, decode_responses=True) as client:
            found = client.sentinel_masters()[PRIMARY]
    except redis.ConnectionError:
        return False
    return bool(found["num-slaves"] == 1 and found["num-other-sentinels"] == SENTINELS - 1)


def test_work_goes_on_after_a_failover_and_nobody_is_restarted(tmp_path: Path) -> None:
    with contextlib.ExitStack() as servers:
        primary = servers.enter_context(EmbeddedServer(data_dir=tmp_path / "primary"))
        replica = servers.enter_context(EmbeddedServer(extra={"replicaof": f"127.0.0.1 {primary.port}"}))
        promoted = connect(replica.url)
        eventually(lambda: promoted.info("replication").get("master_link_status") == "up")
        broker = servers.enter_context(sentinels(primary, tmp_path))
        state = with_transport_options(broker, {"master_name": PRIMARY})
        cluster = servers.enter_context(own_cluster(tmp_path, CELERY_BROKER_URL=broker, MARIE_REDIS_URL=state))
        dags = cluster.dags
        cluster.start_scheduler()
        cluster.start_ready_worker("worker")
        assert dags.layered.submit(2, 5).result(timeout=30) == layered_result(2, 5)
        assert "hand-over atomic" in (tmp_path / "logs" / "scheduler.log").read_text()

        under_way = dags.layered.submit(4, 20)
        eventually(lambda: under_way.status().done >= 10)
        # Replication is asynchronous: what the replica does not have yet would be lost, and that is not the test.
        assert connect(primary.url).wait(1, 5_000) == 1
        primary.kill()
        eventually(lambda: promoted.role()[0] == "master", seconds=30)
        assert under_way.result(timeout=30) == layered_result(4, 20)
        assert asyncio.run(dags.layered.submit(2, 5).result_async(timeout=30)) == layered_result(2, 5)
        cluster.check()


def test_the_name_of_the_primary_comes_from_the_transport_options() -> None:
    url = "sentinel://one:26379/2;sentinel://:secret@two:26380"
    given = with_transport_options(url, {"master_name": "mymaster", "sentinel_kwargs": {"password": "p w"}})
    assert given == f"{url}?master_name=mymaster&sentinel_password=p+w"
    assert with_transport_options(given, {"master_name": "other"}) == given, "what the URL says holds"
    assert with_transport_options("redis://here:1/0", {"master_name": "mymaster"}) == "redis://here:1/0"
    pool = connect(given).connection_pool
    assert (pool.service_name, pool.connection_kwargs["db"], pool.connection_kwargs["password"]) == (
        "mymaster",
        2,
        "secret",
    )


def test_without_the_name_of_the_primary_there_is_a_clear_error() -> None:
    with pytest.raises(ConfigError, match="master_name"):
        connect("sentinel://one:26379/0")


def test_without_a_sentinel_there_is_one_clear_line() -> None:
    url = f"sentinel://127.0.0.1:{free_port()}/0?master_name=mymaster"
    with pytest.raises(ServerError) as refused:
        check_server(connect(url, wait_seconds=0.0), url)
    assert "no sentinel answers with a primary called 'mymaster'" in str(refused.value)
    assert len(str(refused.value)) < 200
    with pytest.raises(redis.ConnectionError, match="no sentinel answers with a primary called 'mymaster'"):
        asyncio.run(ping(url))


async def ping(url: str) -> None:
    async with connect_async(url) as client:
        await client.ping()

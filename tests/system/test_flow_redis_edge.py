"""A graph over two processes, joined by an edge in Redis: what survives a kill, and of what.

The file is also the program of those processes: `python test_flow_redis_edge.py <role> <url> <file>`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from waiting import eventually

from marie_celery.embedded import EmbeddedServer
from marie_celery.flow import DROP, Kind, Message, Node, Port, Scheduler
from marie_celery.store.connection import connect
from marie_celery.store.edges import EdgeKeys, RedisEdges

COUNT = 3_000
CAPACITY = 16
KEYS = EdgeKeys("flow", "numbers:out->diary:in")


class Numbers(Node):
    """Sends all numbers, says so, and ends the run."""

    inputs = (Port("next"),)
    outputs = (Port("out", int), Port("next"))
    sent = 0

    def __init__(self, name: str, scheduler: Scheduler) -> None:
        super().__init__(name)
        self.scheduler = scheduler

    def on_start(self) -> None:
        self.emit("next", None)

    def on_message(self, port: str, message: Message) -> None:
        self.emit("out", self.sent)
        self.sent += 1
        if self.sent < COUNT:
            self.emit("next", None)
        else:
            self.emit("out", "all", kind=Kind.CONTROL)
            self.scheduler.shutdown()


class Diary(Node):
    inputs = (Port("in", int),)

    def __init__(self, name: str, path: str) -> None:
        super().__init__(name)
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def on_message(self, port: str, message: Message) -> None:
        # One system call a line: a killed process leaves whole lines.
        os.write(self.file, f"{message.payload}\n".encode())


def main(role: str, url: str, path: str) -> None:
    scheduler = Scheduler()
    signal.signal(signal.SIGTERM, lambda *_: scheduler.shutdown())
    if role == "producer":
        scheduler.register(Numbers("numbers", scheduler))
        scheduler.connect("numbers:next", "numbers:next", capacity=1, policy=DROP)
    else:
        scheduler.register(Diary("diary", path))
    with RedisEdges(connect(url), KEYS.namespace, lease_seconds=1.0) as edges:
        scheduler.connect("numbers:out", "diary:in", capacity=CAPACITY, edge=edges.edge, remote=True)
        scheduler.run()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(data_dir=tmp_path / "data") as running:
        yield running


@pytest.fixture
def client(server: EmbeddedServer) -> Iterator[redis.Redis]:
    with connect(server.url) as made:
        yield made


Start = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def start(server: EmbeddedServer, tmp_path: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def start_one(role: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, __file__, role, server.url, str(tmp_path / "diary")])
        started.append(process)
        return process

    yield start_one
    for process in started:
        process.kill()
        process.wait()


def lines(tmp_path: Path) -> list[str]:
    path = tmp_path / "diary"
    return path.read_text().splitlines() if path.exists() else []


def kill(process: subprocess.Popen[bytes]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def test_killed_consumers_lose_nothing_of_a_block_edge(
    start: Start, client: redis.Redis, tmp_path: Path
) -> None:
    consumer, producer = start("consumer"), start("producer")
    for reached in (COUNT // 4, COUNT // 2):
        eventually(lambda reached=reached: len(lines(tmp_path)) >= reached)  # type: ignore[misc]
        kill(consumer)
        # The producer goes on until the edge is full, and no further.
        eventually(lambda: client.llen(KEYS.data) == CAPACITY)
        assert producer.poll() is None
        assert int(client.hget(KEYS.books, "accepted") or 0) < COUNT
        consumer = start("consumer")

    wanted = {str(number) for number in range(COUNT)} | {"all"}
    eventually(lambda: wanted <= set(lines(tmp_path)))
    # What was in hand at a kill may have been written already; it is handed out again when its lease ends.
    eventually(lambda: not client.keys(KEYS.held("*")))
    assert producer.wait(timeout=30) == 0
    consumer.send_signal(signal.SIGTERM)
    assert consumer.wait(timeout=30) == 0

    counted = Counter(lines(tmp_path))
    assert set(counted) == wanted
    assert sum(counted.values()) - len(wanted) <= 2, "at most the one message in hand, for each kill"
    books = client.hgetall(KEYS.books)
    assert (int(books["accepted"]), int(books["taken"])) == (COUNT + 1, COUNT + 1)
    assert client.keys(KEYS.held("*")) == client.lrange(KEYS.data, 0, -1) == []


def test_a_consumer_that_is_told_to_stop_leaves_the_rest_to_the_next_in_order(
    start: Start, client: redis.Redis, tmp_path: Path
) -> None:
    start("producer")
    first = start("consumer")
    eventually(lambda: len(lines(tmp_path)) >= COUNT // 3)
    first.send_signal(signal.SIGTERM)
    assert first.wait(timeout=30) == 0
    start("consumer")
    eventually(lambda: len(lines(tmp_path)) >= COUNT + 1)
    assert [line for line in lines(tmp_path) if line != "all"] == [str(number) for number in range(COUNT)]
    assert client.hget(KEYS.books, "returned") is None


def test_both_ends_go_on_after_the_server_was_away(
    start: Start, server: EmbeddedServer, tmp_path: Path
) -> None:
    consumer, producer = start("consumer"), start("producer")
    eventually(lambda: len(lines(tmp_path)) >= COUNT // 3)
    server.stop()
    server.start()
    assert producer.wait(timeout=60) == 0
    eventually(lambda: len(set(lines(tmp_path))) == COUNT + 1)
    counted = Counter(lines(tmp_path))
    assert sum(counted.values()) - len(counted) <= 1, "at most the message in hand when it went"
    consumer.send_signal(signal.SIGTERM)
    assert consumer.wait(timeout=30) == 0


if __name__ == "__main__":
    main(*sys.argv[1:])

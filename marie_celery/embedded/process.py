"""One life of the server: the watcher that runs it, the lifeline to the watcher, and the log."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from marie_celery.clock import Clock
from marie_celery.embedded import watcher
from marie_celery.embedded.lifeline import close_lifeline, open_lifeline
from marie_celery.errors import ServerError

POLL_SECONDS = 0.005
WATCHER_MARGIN_SECONDS = 5.0
LOG_TAIL_BYTES = 2000


class AddressTakenError(ServerError):
    pass


class ServerProcess:
    def __init__(
        self,
        *,
        executable: str,
        config: str,
        data_dir: Path | None,
        unix_socket: Path | None,
        stop_seconds: float,
    ) -> None:
        order = {
            "executable": executable,
            "config": config,
            "data_dir": str(data_dir) if data_dir else None,
            "unix_socket": str(unix_socket) if unix_socket else None,
            "stop_seconds": stop_seconds,
        }
        self.owner = os.getpid()
        self.pid = 0
        self._stop_seconds = stop_seconds
        # Without a name in the file system it cannot be left over, and it can be read after all else is gone.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 — closed by `stop`
        reading, self._lifeline = open_lifeline()
        try:
            self._watcher = subprocess.Popen(
                # Neither the environment nor site-packages: the watcher needs the standard library alone.
                [sys.executable, "-I", "-S", watcher.__file__, json.dumps(order)],
                stdin=reading,
                stdout=subprocess.PIPE,
                stderr=self._log,
                start_new_session=True,  # a Ctrl-C in the terminal is for the owner to handle
            )
        except BaseException:
            close_lifeline(self._lifeline)
            self._log.close()
            raise
        finally:
            os.close(reading)

    def wait_until_it_answers(self, url: str, clock: Clock, patience: float) -> None:
        assert self._watcher.stdout
        told_pid = self._watcher.stdout.fileno()
        os.set_blocking(told_pid, False)
        deadline = clock.monotonic() + patience
        while self._watcher.poll() is None:
            with contextlib.suppress(BlockingIOError):
                self.pid = self.pid or int(os.read(told_pid, 32) or 0)
            # Comparing the pid tells our server from a stranger's on the same port.
            if self.pid and _answering_pid(url) == self.pid:
                return
            if clock.monotonic() > deadline:
                raise ServerError(f"the embedded server gave no answer in {patience:g} s{self._log_tail()}")
            clock.sleep(POLL_SECONDS)
        tail = self._log_tail()
        if "Address already in use" in tail:
            raise AddressTakenError(f"the embedded server's address {url} is taken{tail}")
        raise ServerError(f"the embedded server did not start{tail}")

    def stop(self) -> None:
        close_lifeline(self._lifeline)
        try:
            self._watcher.wait(self._stop_seconds + WATCHER_MARGIN_SECONDS)
        except subprocess.TimeoutExpired:
            self._watcher.kill()
            self._watcher.wait()
        assert self._watcher.stdout
        self._watcher.stdout.close()
        self._log.close()

    def kill(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            os.write(self._lifeline, watcher.KILL)
        self.stop()

    def _log_tail(self) -> str:
        # Not through the file object: the server writes at the offset that seeking here would move.
        log = self._log.fileno()
        tail = os.pread(log, LOG_TAIL_BYTES, max(0, os.fstat(log).st_size - LOG_TAIL_BYTES))
        lines = tail.decode(errors="replace").strip().splitlines()
        return "; the end of its log:" + "".join(f"\n  {line}" for line in lines) if lines else ""


def _answering_pid(url: str) -> int | None:
    """The pid of the server at `url`; None while nobody answers or it still loads its data."""
    client = redis.Redis.from_url(url, socket_timeout=1, retry=Retry(NoBackoff(), 0))
    try:
        return int(client.info("server")["process_id"])
    except redis.RedisError:
        return None
    finally:
        client.close()

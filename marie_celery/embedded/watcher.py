"""Runs the embedded server and outlives whoever asked for it, just long enough to clean up.

`process.py` starts this file as a program of its own, single-threaded and without the package. Its standard
input is a pipe whose other end only the owner holds: end of file means that the owner stopped the server or
died in whatever way, and the kernel tells so even after a kill -9. The server is a child of this process, so
its pid cannot be taken by a stranger while we may still signal it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

KILL = b"K"
OWNER = 0
LOCK_RETRY_SECONDS = 0.05


def main(order: str) -> None:
    spec = json.loads(order)
    woken = _wake_on_signals()
    with contextlib.ExitStack() as leftovers:
        if spec["data_dir"]:
            directory = spec["data_dir"]
            locks = [_lock(directory)]
        else:
            directory = leftovers.enter_context(tempfile.TemporaryDirectory(prefix="marie-embedded-"))
            locks = []
        if spec["unix_socket"]:
            leftovers.callback(Path(spec["unix_socket"]).unlink, missing_ok=True)
        server = subprocess.Popen(
            [spec["executable"], "-"],
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=sys.stderr,
            pass_fds=locks,
            preexec_fn=die_with_the_parent if sys.platform == "linux" else None,
        )
        assert server.stdin
        with contextlib.suppress(BrokenPipeError), server.stdin as config:
            config.write(spec["config"].encode())
        with contextlib.suppress(BrokenPipeError):
            os.write(sys.stdout.fileno(), f"{server.pid}\n".encode())
        _watch(server, woken)
        _end(server, spec["stop_seconds"])


def _wake_on_signals() -> int:
    """A file descriptor that becomes readable when a child ends or somebody asks this process to go."""
    # The owner may have started us from a thread that blocks signals, and masks are inherited.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    return woken


def _lock(directory: str) -> int:
    """Two servers on one append-only file destroy it. The server inherits the lock and frees it by ending."""
    lock = os.open(directory, os.O_RDONLY)
    told = False
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if not told:
                sys.stderr.write(f"the data directory {directory} is used by another server\n")
                sys.stderr.flush()
                told = True
            # The other one may be on its way out; the owner's patience is the bound.
            if select.select([OWNER], [], [], LOCK_RETRY_SECONDS)[0]:
                raise SystemExit(1) from None


def die_with_the_parent() -> None:
    """For a kill -9 of the process that started this one. Linux acts when the thread that forked ends."""
    import ctypes

    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGTERM)


def _watch(server: subprocess.Popen[bytes], woken: int) -> None:
    """Return when the server ended, the owner is gone, or this process is asked to go."""
    while server.poll() is None:
        for source in select.select([OWNER, woken], [], [])[0]:
            received = os.read(source, 64)
            if source == OWNER and received == KILL:
                server.kill()
                server.wait()
            elif source == OWNER or set(received) - {signal.SIGCHLD}:
                return


def _end(server: subprocess.Popen[bytes], stop_seconds: float) -> None:
    server.terminate()
    try:
        server.wait(stop_seconds)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main(sys.argv[1])

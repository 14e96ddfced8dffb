"""One round of one system: a fresh Redis, its processes, a warm-up, then the workloads one after the other."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from benchmarks.peers.environments import NotHereError
from benchmarks.peers.systems import Command, System
from benchmarks.peers.workloads import WORKLOADS, Workload, expected
from marie_celery.embedded import EmbeddedServer
from marie_celery.embedded.watcher import die_with_the_parent

APPS = Path(__file__).parent / "apps"
WARM_UP_SECONDS = 60.0
WORKLOAD_SECONDS = 180.0
STOP_SECONDS = 10.0
LOG_TAIL = 300


class Stage:
    """The running processes of a system, and its client to talk to."""

    def __init__(self, client: subprocess.Popen[bytes], log: Path) -> None:
        self._client = client
        self._log = log

    def run(self, workload: Workload, sizes: tuple[int, ...], patience: float) -> float:
        """The seconds that it took; the answer has been compared with what must come out."""
        order = {"workload": workload.name, "sizes": sizes}
        assert self._client.stdin and self._client.stdout
        try:
            self._client.stdin.write(json.dumps(order).encode() + b"\n")
            self._client.stdin.flush()
        except BrokenPipeError:
            raise NotHereError(f"its client ended{self._tail()}") from None
        if not select.select([self._client.stdout], [], [], patience)[0]:
            raise NotHereError(f"{workload.name}: no answer in {patience:.0f} s{self._tail()}")
        line = self._client.stdout.readline()
        if not line:
            raise NotHereError(f"{workload.name}: its client ended{self._tail()}")
        told = json.loads(line)
        if told["answer"] != (right := expected(workload.name, sizes)):
            raise NotHereError(f"{workload.name}: the answer was {told['answer']}, not {right}")
        return float(told["seconds"])

    def _tail(self) -> str:
        text = self._log.read_text(errors="replace").strip()[-LOG_TAIL:]
        return f"; it said: {' '.join(text.split())}" if text else ""


@contextmanager
def on_stage(system: System) -> Iterator[Stage]:
    """Nothing of it is left when this is over."""
    with ExitStack() as ends:
        folder = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="marie-peers-")))
        server = ends.enter_context(EmbeddedServer())
        names = {
            "bin": str(system.environment.programs),
            "apps": str(APPS),
            "url": server.url,
            "port": str(free_port()),
            "folder": str(folder),
        }
        variables = environment_of(system, names)
        log = ends.enter_context((folder / "log").open("wb"))
        for worker in system.workers:
            ends.enter_context(process(worker, names, variables, folder, log))
        client = ends.enter_context(process(system.client, names, variables, folder, log, is_client=True))
        yield Stage(client, folder / "log")


def environment_of(system: System, names: Mapping[str, str]) -> dict[str, str]:
    given = {name: value.format_map(names) for name, value in system.variables.items()}
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("MARIE_", "CELERY_"))},
        "REDIS_URL": names["url"],
        "PEER_PORT": names["port"],
        "PYTHONPATH": names["apps"],
        **system.environment.variables(),
        **given,
    }


@contextmanager
def process(
    command: Command,
    names: Mapping[str, str],
    variables: Mapping[str, str],
    folder: Path,
    log: IO[bytes],
    *,
    is_client: bool = False,
) -> Iterator[subprocess.Popen[bytes]]:
    started = subprocess.Popen(
        [part.format_map(names) for part in command],
        cwd=folder,
        env=variables,
        stdin=subprocess.PIPE if is_client else subprocess.DEVNULL,
        stdout=subprocess.PIPE if is_client else log,
        stderr=log,
        # A group of its own, so that its children can be ended with it and nobody else.
        start_new_session=True,
        preexec_fn=die_with_the_parent if sys.platform == "linux" else None,
    )
    try:
        yield started
    finally:
        for pipe in filter(None, (started.stdin, started.stdout)):
            pipe.close()
        end(started)


def end(started: subprocess.Popen[bytes]) -> None:
    started.terminate()
    with suppress(subprocess.TimeoutExpired):
        started.wait(STOP_SECONDS)
    # Its children too, if it left any.
    with suppress(ProcessLookupError):
        os.killpg(started.pid, signal.SIGKILL)
    started.wait()


def play(system: System, workloads: Sequence[Workload]) -> dict[str, float]:
    """Seconds of each workload in one round."""
    with on_stage(system) as stage:
        for workload in WORKLOADS.values():
            stage.run(workload, workload.warm_up, WARM_UP_SECONDS)
        return {workload.name: stage.run(workload, workload.sizes, WORKLOAD_SECONDS) for workload in workloads}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

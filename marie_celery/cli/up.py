"""`up`: a whole cluster in one terminal."""

from __future__ import annotations

import signal
import tempfile
import threading
from collections.abc import Collection
from pathlib import Path

import click

from marie_celery.cli.context import app_name, find_marie, json_option, print_json
from marie_celery.cluster import Cluster
from marie_celery.config import Settings
from marie_celery.embedded import EmbeddedServer
from marie_celery.errors import ServerError
from marie_celery.store.connection import connect
from marie_celery.store.store import Store

LOG_LINES = 20


@click.command()
@click.option("-s", "--slots", default=2, show_default=True, type=click.IntRange(1), help="Slots per executor.")
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), help="Keep data and logs in this folder.")
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="Port of the server; 0 = a free one.")
@json_option
@click.pass_context
def up(ctx: click.Context, slots: int, data: Path | None, port: int, as_json: bool) -> None:
    """Run it all here on a server of its own, until Ctrl-C."""
    name, marie = app_name(ctx), find_marie(ctx)
    executors = sorted(marie.executors())
    if not executors:
        raise click.ClickException(f"the app '{name}' has no tasks and no executors: there is nothing to run")
    stop = _stop_signal()
    with tempfile.TemporaryDirectory(prefix="marie-up-") as folder:
        logs = (data or Path(folder)).absolute() / "logs"
        with Cluster(name, server=EmbeddedServer(data_dir=data, port=port), log=logs) as cluster:
            cluster.start_scheduler()
            for executor in executors:
                cluster.start_worker(executor, slots=slots, options=["-l", "info"])
            try:
                if _wait_for_workers(cluster, marie.settings, executors, stop):
                    _announce(name, cluster.server.url, executors, slots, logs, as_json)
                while not stop.wait(0.5):
                    cluster.check()
            except ServerError as error:
                raise ServerError(f"{error}{_last_words(cluster, logs)}") from None
            if not as_json:
                click.echo("stopping …")


def _stop_signal() -> threading.Event:
    """Set by Ctrl-C, by a polite kill, and when the terminal is closed."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: stop.set())
    return stop


def _wait_for_workers(
    cluster: Cluster, settings: Settings, executors: Collection[str], stop: threading.Event
) -> bool:
    """True once every executor has a live worker; False if it was stopped before."""
    store = Store(connect(cluster.server.url), settings)
    with store.client:
        while not stop.wait(0.1):
            cluster.check()
            if set(executors) <= {view.name for view in store.capacity() if view.workers}:
                return True
    return False


def _announce(name: str, url: str, executors: Collection[str], slots: int, logs: Path, as_json: bool) -> None:
    if as_json:
        print_json({"redis_url": url, "executors": list(executors), "slots": slots, "logs": str(logs)})
        return
    click.echo(f"Up, with {slots} slots for each of {', '.join(executors)}. Ctrl-C ends it. In another terminal:")
    click.echo(f"  export CELERY_BROKER_URL={url} MARIE_REDIS_URL={url}")
    click.echo(f"  marie -A {name} runs")
    click.echo(f"Logs are in {logs}")


def _last_words(cluster: Cluster, logs: Path) -> str:
    """The end of the log of what has ended: the folder may be gone when the error is read."""
    ended = [name for name, process in cluster.processes.items() if process.poll() is not None]
    lines = [line for name in ended for line in (logs / f"{name}.log").read_text().splitlines()[-LOG_LINES:]]
    return "".join(f"\n  {line}" for line in lines)

"""Commands that run processes: `scheduler`, `worker`, `up`."""

from __future__ import annotations

import logging
import signal
import threading
from pathlib import Path
from typing import Any

import click

from marie_celery.cli.context import app_name, find_marie
from marie_celery.cluster import Cluster
from marie_celery.embedded import EmbeddedServer
from marie_celery.scheduler.process import SchedulerProcess
from marie_celery.store.connection import hide_password


@click.command()
@click.option("-l", "--loglevel", default="info", show_default=True)
@click.pass_context
def scheduler(ctx: click.Context, loglevel: str) -> None:
    """Run a scheduler. Any number of them may run."""
    marie = find_marie(ctx)
    logging.basicConfig(level=loglevel.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    process = SchedulerProcess(marie)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: process.stop())

    def announce(transport: str) -> None:
        executors = ", ".join(sorted(marie.executors())) or "none yet"
        click.echo(
            f"marie scheduler on {hide_password(marie.url)}, namespace {marie.settings.namespace}, "
            f"hand-over {transport}, executors {executors}"
        )

    process.run(announce)
    click.echo("marie scheduler stopped")


@click.command(context_settings={"ignore_unknown_options": False})
@click.option("-e", "--executor", "executors", multiple=True, required=True, help="What this worker serves.")
@click.option("-s", "--slots", type=click.IntRange(1), help="How many jobs at once (Celery's concurrency).")
@click.option("-n", "--name", help="Name of the worker; default <executor>@<host>.")
@click.argument("celery_options", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def worker(
    ctx: click.Context, executors: tuple[str, ...], slots: int | None, name: str | None, celery_options: tuple[str, ...]
) -> None:
    """Run a Celery worker for an executor. Options for Celery follow after `--`."""
    marie = find_marie(ctx)
    known = marie.executors()
    unknown = sorted(set(executors) - known)
    if unknown:
        raise click.ClickException(
            f"no task and no setting names the executor '{unknown[0]}'; there are {', '.join(sorted(known)) or 'none'}"
        )
    marie.check()
    queues = ",".join(marie.settings.queue_of(executor) for executor in executors)
    arguments = ["worker", "-Q", queues, "-n", name or f"{'-'.join(executors)}@%h", "-E"]
    if slots:
        arguments += ["-c", str(slots)]
    marie.app.worker_main([*arguments, *celery_options])


@click.command()
@click.option("-s", "--slots", default=2, show_default=True, type=click.IntRange(1), help="Slots per executor.")
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), help="Keep the data in this folder.")
@click.option("--port", default=0, help="Port of the embedded server; 0 = a free one.")
@click.pass_context
def up(ctx: click.Context, slots: int, data: Path | None, port: int) -> None:
    """Run everything on this machine with an embedded server, until Ctrl-C."""
    marie = find_marie(ctx)
    stop = threading.Event()

    def on_signal(*_: Any) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    with Cluster(app_name(), server=EmbeddedServer(data_dir=data, port=port)) as cluster:
        cluster.start_scheduler()
        for executor in sorted(marie.executors()):
            cluster.start_worker(executor, slots=slots)
        url = cluster.server.url
        click.echo(f"Up, with {slots} slots for each of {', '.join(sorted(marie.executors()))}. In another terminal:")
        click.echo(f"  export CELERY_BROKER_URL={url} MARIE_REDIS_URL={url}")
        click.echo(f"  marie -A {app_name()} runs")
        while not stop.wait(1.0):
            cluster.check()
        click.echo("stopping …")

"""Commands that are processes: `scheduler`, `worker`. The command `up` starts both."""

from __future__ import annotations

import logging
import signal

import click

from marie_celery.cli.context import app_name, find_marie
from marie_celery.scheduler.process import SchedulerProcess
from marie_celery.store.connection import hide_password

GREEN_POOLS = ("gevent", "eventlet")
QUEUE_OPTIONS = ("-Q", "--queues", "-X", "--exclude-queues")
LEVELS = ("debug", "info", "warning", "error", "critical")


@click.command()
@click.option("-l", "--loglevel", type=click.Choice(LEVELS, False), default="info", help="How much is logged.")
@click.pass_context
def scheduler(ctx: click.Context, loglevel: str) -> None:
    """Run a scheduler. Any number of them may run."""
    marie = find_marie(ctx)
    logging.basicConfig(level=loglevel.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    process = SchedulerProcess(marie)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: process.stop())

    def announce(transport: str, planner: str) -> None:
        executors = ", ".join(sorted(marie.executors())) or "none yet"
        click.echo(
            f"marie scheduler on {hide_password(marie.url)}, namespace {marie.settings.namespace}, "
            f"hand-over {transport}, planner {planner}, executors {executors}"
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
    """Run a Celery worker for an executor.

    More options of `celery worker` follow after --, as in: marie -A yourmodule worker -e ocr -- -P threads
    """
    marie = find_marie(ctx)
    known = marie.executors()
    unknown = [executor for executor in executors if executor not in known]
    if unknown:
        raise click.ClickException(
            f"no task and no setting names the executor '{unknown[0]}'; there are {', '.join(sorted(known)) or 'none'}"
        )
    for option in celery_options:
        if option.startswith(QUEUE_OPTIONS):
            raise click.ClickException(f"{option}: the executors say which queues; for others use celery worker")
    # These pools patch Python before anything else is imported. Celery's own command does; here it is too late.
    if ctx.find_root().obj is None and any(option.endswith(GREEN_POOLS) for option in celery_options):
        raise click.ClickException(f"for this pool write celery -A {app_name(ctx)} marie worker …")
    for warning in marie.check():
        click.echo(f"warning: {warning}", err=True)
    queues = ",".join(dict.fromkeys(map(marie.settings.queue_of, executors)))
    arguments = ["worker", "-Q", queues, "-n", name or f"{'-'.join(dict.fromkeys(executors))}@%h", "-E"]
    if slots:
        arguments += ["-c", str(slots)]
    ctx.exit(marie.app.start([*arguments, *celery_options]))

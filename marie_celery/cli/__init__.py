"""`celery -A app marie …` and `marie -A app …`: the same verbs."""

from __future__ import annotations

import click
from celery import Celery

from marie_celery.cli.context import MarieGroup, load_app
from marie_celery.cli.inspection import capacity, doctor
from marie_celery.cli.processes import scheduler, up, worker
from marie_celery.cli.runs import cancel, runs, show, submit


@click.group(cls=MarieGroup)
def marie() -> None:
    """DAGs by deadline: scheduler, workers, runs."""


@click.group(cls=MarieGroup, commands=marie.commands)
@click.option("-A", "--app", envvar=("CELERY_APP", "MARIE_APP"), help="The Celery app, as for celery -A.")
@click.version_option(package_name="marie-celery")
@click.pass_context
def main(ctx: click.Context, app: str | None) -> None:
    """DAGs by deadline on the Celery workers you have."""
    ctx.obj = load_app(app) if app else None
    if isinstance(ctx.obj, Celery):
        ctx.obj.set_current()


for command in (scheduler, worker, up, submit, runs, show, cancel, capacity, doctor):
    marie.add_command(command)
    main.add_command(command)

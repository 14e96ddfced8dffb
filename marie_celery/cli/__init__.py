"""`celery -A app marie …` and `marie -A app …`: the same verbs."""

from __future__ import annotations

import click

from marie_celery.cli.capacity import capacity
from marie_celery.cli.doctor import doctor
from marie_celery.cli.draw import draw
from marie_celery.cli.errors import MarieGroup
from marie_celery.cli.operations import dead, pause, reconcile, replay, resume
from marie_celery.cli.planning import estimates, planner, reprioritise, why
from marie_celery.cli.processes import scheduler, worker
from marie_celery.cli.resources import resize, resources
from marie_celery.cli.runs import cancel, runs, show, submit
from marie_celery.cli.schedules import schedules
from marie_celery.cli.simulation import simulate
from marie_celery.cli.up import up
from marie_celery.cli.web import web
from marie_celery.cli.workforce import drain, target, tenants

# In the order of a first day: start, submit, look, steer, check.
VERBS = (
    *(scheduler, worker, web, up),
    *(draw, submit, runs, show, why, schedules),
    *(cancel, pause, resume, reprioritise, dead, replay),
    *(capacity, target, drain, resources, resize, tenants),
    *(planner, estimates, simulate, doctor, reconcile),
)


@click.group(cls=MarieGroup)
def marie() -> None:
    """Run DAGs by deadline: scheduler and workers, runs, a look at both.

    The app comes first, as for all of Celery: celery -A yourmodule marie runs
    """


@click.group(cls=MarieGroup)
@click.option("-A", "--app", envvar=("CELERY_APP", "MARIE_APP"), help="The Celery app, as for celery -A.")
@click.version_option(package_name="marie-celery")
def main(app: str | None) -> None:
    """Run DAGs by deadline: scheduler and workers, runs, a look at both.

    The app comes first: marie -A yourmodule runs
    """


for command in VERBS:
    marie.add_command(command)
    main.add_command(command)

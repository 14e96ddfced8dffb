"""What all commands share: finding the app, reaching Redis, printing for people or programs."""

from __future__ import annotations

import getpass
import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import click
from celery import Celery
from celery.app.utils import find_app
from rich.console import Console
from rich.table import Table

from marie_celery.cli.errors import described
from marie_celery.extension import Marie
from marie_celery.store.keys import split_attempt
from marie_celery.worker.task import is_attempt

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs; errors as well.")


def find_marie(ctx: click.Context) -> Marie:
    """The Marie of the app that the command line names, with all of its tasks and dags loaded."""
    app = _find_app(ctx)
    try:
        app.loader.import_default_modules()
        app.finalize()
    except Exception as error:
        raise click.ClickException(f"cannot load the modules of the app '{app.main}': {described(error)}") from None
    return Marie.of(app)


def reach(ctx: click.Context) -> Marie:
    """The same, and its Redis is there and fit for the work."""
    marie = find_marie(ctx)
    marie.check()
    return marie


def app_name(ctx: click.Context) -> str:
    """The app as it was named, for this process and for child processes."""
    name = ctx.find_root().params.get("app")
    if not name or not isinstance(name, str):
        raise click.ClickException("name the Celery app: marie -A yourmodule … or celery -A yourmodule marie …")
    return name


def _find_app(ctx: click.Context) -> Celery:
    name = app_name(ctx)
    loaded = getattr(ctx.find_root().obj, "app", None)  # celery -A has loaded it
    return loaded if loaded is not None else _load_app(name)


def _load_app(name: str) -> Celery:
    folder = str(Path.cwd())  # as celery does
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        app = find_app(name)
    except Exception as error:
        raise click.ClickException(f"cannot load the app '{name}': {described(error)}") from None
    if not isinstance(app, Celery):
        raise click.ClickException(f"'{name}' is not a Celery app")
    app.set_current()
    return app


def job_or_run(id: str) -> str:
    """An attempt, as Flower shows it, stands for its job."""
    return split_attempt(id)[0] if is_attempt(id) else id


def operator_name() -> str:
    """Who gives the order, for the events."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without names
        return "cli"


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, default=str))


def console() -> Console:
    """As wide as the terminal; without one, as wide as what is printed."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else 1000)


def table_of(*columns: str, narrow: Collection[str] = ()) -> Table:
    """Only the columns in `narrow` give way where the terminal is too small: an id is useless if it is cut."""
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, no_wrap=column not in narrow, overflow="fold")
    return table

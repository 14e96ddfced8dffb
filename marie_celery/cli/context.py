"""What all commands share: finding the app, printing for people or programs, one clear line for errors."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import redis
from celery import Celery
from celery.app.utils import find_app
from kombu.exceptions import OperationalError
from rich.console import Console

from marie_celery.errors import MarieError
from marie_celery.extension import Marie

F = TypeVar("F", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


class MarieGroup(click.Group):
    """Turns our errors into one line and exit code 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (MarieError, redis.RedisError, OperationalError) as error:
            raise click.ClickException(str(error)) from None


def find_marie(ctx: click.Context) -> Marie:
    app = getattr(ctx.find_root().obj, "app", None) or (ctx.obj if isinstance(ctx.obj, Celery) else None)
    if app is None:
        raise click.UsageError("name the Celery app: marie -A yourmodule …")
    app.loader.import_default_modules()
    app.finalize()
    return Marie.of(app)


def load_app(name: str) -> Celery:
    sys.path.insert(0, str(Path.cwd()))  # as celery does
    try:
        return find_app(name)
    except (ImportError, AttributeError) as error:
        raise click.ClickException(f"cannot load the app '{name}': {error}") from None


def app_name() -> str:
    """The app as it was named on the command line or in the environment, for child processes."""
    arguments = sys.argv[1:]
    for number, argument in enumerate(arguments):
        if argument in ("-A", "--app") and number + 1 < len(arguments):
            return arguments[number + 1]
        if argument.startswith("--app="):
            return argument.removeprefix("--app=")
    name = os.environ.get("CELERY_APP") or os.environ.get("MARIE_APP")
    if not name:
        raise click.UsageError("name the Celery app: marie -A yourmodule …")
    return name


def print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, default=str))


def console() -> Console:
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())

"""How every command fails: one clear line on stderr, or `{"error": …}` on stdout with `--json`; never exit code 0."""

from __future__ import annotations

import json
import sysconfig
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import redis
from kombu.exceptions import OperationalError

from marie_celery.errors import MarieError

_WANTS_JSON = "marie_celery.json"
_NOT_THE_USERS = (str(Path(__file__).parents[1]), *map(sysconfig.get_path, ("stdlib", "purelib", "platlib")))


class MarieGroup(click.Group):
    """A group whose commands all fail alike, listed in the order of a first day: start, submit, look."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        as_json = _wants_json(args)
        with _told_in_one_line(as_json):
            _check_text(args)
            ctx = super().make_context(info_name, args, parent, **extra)
        ctx.meta[_WANTS_JSON] = as_json
        return ctx

    def invoke(self, ctx: click.Context) -> Any:
        with _told_in_one_line(ctx.meta[_WANTS_JSON]):
            return super().invoke(ctx)


def _wants_json(args: Sequence[str]) -> bool:
    """Asked of the bare arguments: the ones that cannot be parsed need an answer too."""
    before = args[: args.index("--")] if "--" in args else args
    return "--json" in before


def _check_text(args: Sequence[str]) -> None:
    for argument in args:
        if not argument.isprintable() and any("\udc80" <= character <= "\udcff" for character in argument):
            raise click.ClickException(f"the argument {argument!a} is not text in UTF-8")


@contextmanager
def _told_in_one_line(as_json: bool) -> Iterator[None]:
    try:
        yield
    except (MarieError, redis.RedisError, OperationalError, click.ClickException) as error:
        told = error if isinstance(error, click.ClickException) else click.ClickException(_line(error))
        if not as_json:
            raise told from None
        click.echo(json.dumps({"error": told.format_message()}, indent=2))
        raise click.exceptions.Exit(told.exit_code) from None


def _line(error: Exception) -> str:
    if isinstance(error, MarieError):
        return str(error)
    return f"{'Redis' if isinstance(error, redis.RedisError) else 'the broker'} failed: {error}"


def described(error: Exception) -> str:
    """An error of the user's own code, and the line of it where it happened."""
    text = f"{type(error).__name__}: {error}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_the_users(frame.filename)]
    return f"{text} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else text


def _is_the_users(file: str) -> bool:
    return not file.startswith(("<", *_NOT_THE_USERS))

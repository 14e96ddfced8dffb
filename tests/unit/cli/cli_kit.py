"""What the tests of the commands share: the app that they write, and what a good refusal looks like."""

from __future__ import annotations

import json
from collections.abc import Callable

from click.testing import Result

HEAD = """
from celery import Celery
from marie_celery import Marie

app = Celery({name!r}, broker="redis://127.0.0.1:1/0")
marie = Marie(app)

@marie.task(executor="main")
def add(x, y=1):
    return x + y
"""

WriteApp = Callable[..., str]
Command = Callable[..., Result]


def assert_refused(result: Result, *parts: str) -> None:
    """One line on stderr that says all of `parts`, nothing on stdout, a bad exit code, no traceback."""
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code != 0
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    for part in parts:
        assert part in line


def assert_refused_in_json(result: Result, *parts: str) -> None:
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code != 0
    assert result.stderr == ""
    answer = json.loads(result.stdout)
    assert set(answer) == {"error"}
    for part in parts:
        assert part in answer["error"]

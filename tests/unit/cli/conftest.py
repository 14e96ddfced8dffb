"""Both commands, in this process, on apps that a test writes."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import _state
from celery.bin.celery import celery
from click.testing import CliRunner, Result

from marie_celery.authoring.dag import DAGS
from marie_celery.authoring.task import Task
from marie_celery.cli import main
from tests.unit.cli.cli_kit import HEAD, Command, WriteApp

_numbers = itertools.count(1)


@pytest.fixture
def write_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WriteApp]:
    """Writes the module of an app and answers with its name. Leaves no trace of it in this process."""
    names: list[str] = []
    dags, current, shared = dict(DAGS), _state._tls.current_app, set(_state._on_app_finalizers)
    # Shared tasks of other tests in this process belong to every app, also to those written here.
    _state._on_app_finalizers -= {each for each in shared if isinstance(getattr(each, "__self__", None), Task)}
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("MARIE_REDIS_URL", "redis://127.0.0.1:1/0")

    def write(body: str = "", *, head: str = HEAD) -> str:
        names.append(f"cli_app_{next(_numbers)}")
        (tmp_path / f"{names[-1]}.py").write_text(head.format(name=names[-1]) + body)
        return names[-1]

    yield write
    for name in names:
        sys.modules.pop(name, None)
    DAGS.clear()
    DAGS.update(dags)
    _state._on_app_finalizers = shared
    _state._tls.current_app = current


@pytest.fixture(params=["marie", "celery"])
def command(request: pytest.FixtureRequest) -> Command:
    """`marie -A app …` and `celery -A app marie …`."""

    def call(app: str, *arguments: str, **options: Any) -> Result:
        given = ["-A", app] if app else []
        if request.param == "celery":
            return CliRunner().invoke(celery, [*given, "marie", *arguments], prog_name="celery", **options)
        return CliRunner().invoke(main, [*given, *arguments], prog_name="marie", **options)

    return call

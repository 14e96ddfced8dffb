"""The app on a Redis in this process, with a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import fakeredis
import pytest
from celery import Celery
from fastapi import FastAPI

from marie_celery import Marie
from marie_celery.store.store import Store
from marie_celery.web import create_app
from tests.redis.redis_runs import NOW


@pytest.fixture
def server() -> fakeredis.FakeServer:
    return fakeredis.FakeServer()


@pytest.fixture
def marie(server: fakeredis.FakeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Marie]:
    monkeypatch.chdir(tmp_path)  # no config file
    with fakeredis.FakeRedis(server=server, decode_responses=True) as client:
        monkeypatch.setattr("marie_celery.extension.connect", lambda url, **_: client)
        made = Marie(Celery("web", broker="redis://:secret@127.0.0.1:1/0", set_as_current=False))
        made.store.now_ms = NOW
        yield made


@pytest.fixture
def store(marie: Marie) -> Store:
    return marie.store


@pytest.fixture
def app(marie: Marie) -> FastAPI:
    return create_app(marie)

"""A store on fakeredis and on a real server, with a clock that stands still until a test moves it."""

from __future__ import annotations

from collections.abc import Iterator

import fakeredis
import pytest
import redis

from marie_celery.config import Settings
from marie_celery.embedded import EmbeddedServer
from marie_celery.store.functions import library
from marie_celery.store.store import Store
from tests.redis.redis_runs import NOW


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer() as running:
        yield running


@pytest.fixture(scope="session")
def real_client(server: EmbeddedServer) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(server.url, decode_responses=True) as client:
        load_functions(client)
        yield client


def load_functions(client: redis.Redis) -> None:
    """Tests that count commands should not count these."""
    client.function_load(library().text, replace=True)


@pytest.fixture
def real_store(real_client: redis.Redis) -> Store:
    real_client.flushall()
    return Store(real_client, Settings(), now_ms=NOW)


@pytest.fixture
def fake_store() -> Iterator[Store]:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer(), decode_responses=True) as client:
        yield Store(client, Settings(), now_ms=NOW)


@pytest.fixture(params=["fakeredis", "real"])
def store(request: pytest.FixtureRequest) -> Store:
    name = "real_store" if request.param == "real" else "fake_store"
    chosen: Store = request.getfixturevalue(name)
    return chosen

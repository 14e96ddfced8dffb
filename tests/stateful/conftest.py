"""How long the machine runs, by which seed, and what it did at the end of the report.

    MARIE_SOAK_STEPS=2000000 pytest tests/stateful      a soak: so many steps on the real server
    pytest tests/stateful --hypothesis-seed=N           the same steps again
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import fakeredis
import pytest
import redis

from marie_celery.embedded import EmbeddedServer

_report: list[str] = []


@pytest.fixture(scope="session")
def first_seed(request: pytest.FixtureRequest) -> int:
    given = request.config.getoption("hypothesis_seed", None)
    return int(given) if given else random.SystemRandom().randrange(10**9)


@pytest.fixture(scope="session")
def soak_steps() -> int | None:
    text = os.environ.get("MARIE_SOAK_STEPS")
    return int(text) if text else None


@pytest.fixture
def real() -> Iterator[redis.Redis]:
    with EmbeddedServer() as server, redis.Redis.from_url(server.url, decode_responses=True) as client:
        yield client


@pytest.fixture
def fake() -> Iterator[redis.Redis]:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer(), decode_responses=True) as client:
        yield client


@pytest.fixture
def tell() -> Iterator[list[str]]:
    """Lines for the end of the report, of passed tests too."""
    lines: list[str] = []
    yield lines
    _report.extend(lines)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in _report:
        terminalreporter.write_line(line)

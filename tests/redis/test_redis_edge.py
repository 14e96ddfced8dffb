"""The contract of all edges on the edge in Redis, on fakeredis and on a real server."""

from __future__ import annotations

from collections.abc import Iterator

import fakeredis
import pytest
import redis

from marie_celery.flow import Edge, Policy
from marie_celery.store.edges import RedisEdges
from tests.redis.redis_runs import NOW
from tests.unit.flow.edge_contract import EdgeContract


class OnRedis(EdgeContract):
    hub: RedisEdges

    def make(self, capacity: int, policy: Policy) -> Edge:
        return self.hub.edge("a:out->b:in", capacity, policy)


class TestOnFakeredis(OnRedis):
    @pytest.fixture(autouse=True)
    def _hub(self) -> Iterator[None]:
        with fakeredis.FakeRedis(server=fakeredis.FakeServer(), decode_responses=True) as client:
            self.hub = RedisEdges(client, now_ms=NOW)
            yield


class TestOnARealServer(OnRedis):
    @pytest.fixture(autouse=True)
    def _hub(self, real_client: redis.Redis) -> None:
        real_client.flushall()
        self.hub = RedisEdges(real_client)

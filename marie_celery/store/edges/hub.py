"""All edges of a process in one namespace: makes them, listens for them, says good-bye for them."""

from __future__ import annotations

import itertools
import logging
import os
import platform
import threading
from types import TracebackType
from typing import Any, Self

from redis import Redis, RedisError

from marie_celery.clock import Clock, SystemClock
from marie_celery.errors import ConfigError
from marie_celery.flow import Policy
from marie_celery.store.connection import BLOCK_SLICE
from marie_celery.store.edges.edge import RedisEdge
from marie_celery.store.edges.listener import Listener
from marie_celery.store.keys import Keys
from marie_celery.store.scripts import script_names, source

logger = logging.getLogger(__name__)

LEASE_SECONDS = 10.0
RENEWALS_PER_LEASE = 3


class RedisEdges:
    """`lease_seconds` is how long a dead consumer keeps what it held.

    Leaving the `with` block hands out again what was taken and not settled. Never share it with a forked child.
    """

    def __init__(
        self,
        client: Redis,
        namespace: str = "marie",
        *,
        lease_seconds: float = LEASE_SECONDS,
        clock: Clock | None = None,
        now_ms: int | None = None,
    ) -> None:
        if not client.connection_pool.connection_kwargs.get("decode_responses"):
            raise ConfigError("Redis edges need a client with decode_responses=True, as store.connection makes it")
        if not lease_seconds > 0:
            raise ConfigError(f"lease_seconds must be above 0, not {lease_seconds!r}")
        self.namespace = namespace
        self.lease_ms = round(lease_seconds * 1000)
        self.now_ms = now_ms
        """A test's clock; None is the time of Redis."""
        self._client = client
        self._clock = clock or SystemClock()
        self._prefix = Keys(namespace).prefix
        self._name = f"{platform.node() or 'host'}-{os.getpid()}-{os.urandom(4).hex()}"
        self._numbers = itertools.count(1)
        self._edges: list[RedisEdge] = []
        self._listener: Listener | None = None
        self._is_closed = False
        self._lock = threading.Lock()
        self._scripts = {
            name: client.register_script(source(name)) for name in script_names() if name.startswith("edge_")
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def edge(self, id: str, capacity: int, policy: Policy) -> RedisEdge:
        """The factory to connect with. Its settings hold for both ends; the one that comes last is right."""
        made = RedisEdge(self, id, f"{self._name}.{next(self._numbers)}", capacity, policy)
        self._edges.append(made)
        return made

    def call(self, script: str, *arguments: Any) -> Any:
        clock = "" if self.now_ms is None else self.now_ms
        # Edges write no events, so the cap of the stream does not matter.
        return self._scripts[script](keys=[self._prefix], args=[clock, 0, *arguments])

    def listen(self) -> None:
        """Begins to wait for the far ends; called by the first look at an edge, when all of them are attached."""
        if self._listener is not None or self._is_closed:
            return
        with self._lock:
            if self._listener is None and not self._is_closed:
                renew_s = self.lease_ms / 1000 / RENEWALS_PER_LEASE
                slice_s = min(BLOCK_SLICE, renew_s)
                self._listener = Listener(self._client, lambda: list(self._edges), renew_s, slice_s, self._clock)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            if self._listener is not None:
                self._listener.close()
        for edge in self._edges:
            try:
                if edge.takes:
                    edge.leave()
            except (RedisError, OSError) as error:
                logger.warning("edge %s: no good-bye, the lease has to end by itself: %r", edge.id, error)
        self._edges.clear()

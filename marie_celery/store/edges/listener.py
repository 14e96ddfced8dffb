"""The thread that waits for the far ends, so that the loop need not.

It blocks on the wake lists of all edges of the process, on a connection of its own, and tells the edge whose list
had something. The loop itself waits in memory: there it can be woken by other threads and by signal handlers, which
a call to the server could not be, and a busy loop hears of a remote message in its next turn. Between two waits the
thread renews the leases, so they hold however long a callback takes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from redis import ConnectionPool, Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

from marie_celery.clock import Clock
from marie_celery.store.connection import SOCKET_TIMEOUT
from marie_celery.store.edges.edge import RedisEdge

logger = logging.getLogger(__name__)

ERROR_PAUSE_S = 1.0


class Listener:
    def __init__(
        self, client: Redis, edges: Callable[[], list[RedisEdge]], renew_s: float, slice_s: float, clock: Clock
    ) -> None:
        self._client = _alike(client, slice_s)
        self._edges = edges
        self._renew_s = renew_s
        self._slice_s = slice_s
        self._clock = clock
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="marie-edges", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        try:
            # Ends the pop that is under way. If somebody else pops it, that one looks once in vain.
            for list_name in list(self._lists(self._edges()))[:1]:
                self._client.rpush(list_name, "1")
        except (RedisError, OSError) as error:
            logger.debug("the listener ends by itself: %r", error)
        self._thread.join(self._slice_s + 1)
        self._client.connection_pool.disconnect()

    def _listen(self) -> None:
        renewed = self._clock.monotonic()
        while not self._closing.is_set():
            edges = self._edges()
            try:
                if self._clock.monotonic() - renewed >= self._renew_s:
                    for edge in edges:
                        if edge.takes:
                            edge.renew()
                    renewed = self._clock.monotonic()
                self._hear(edges)
            except (RedisError, OSError) as error:
                if self._closing.is_set():
                    return
                for edge in edges:
                    edge.failed(error)
                self._closing.wait(ERROR_PAUSE_S)

    def _hear(self, edges: list[RedisEdge]) -> None:
        lists = self._lists(edges)
        popped = self._client.blpop(list(lists), timeout=self._slice_s)
        if popped:
            lists[str(popped[0])].heard()

    def _lists(self, edges: list[RedisEdge]) -> dict[str, RedisEdge]:
        lists = {edge.keys.wake_consumer: edge for edge in edges if edge.takes}
        return lists | {edge.keys.wake_producer: edge for edge in edges if edge.sends}


def _alike(client: Redis, slice_s: float) -> Redis:
    """A client of the same server whose sockets outlast a blocking pop, and that never repeats one by itself."""
    pool = client.connection_pool
    options = {**pool.connection_kwargs, "socket_timeout": slice_s + SOCKET_TIMEOUT, "retry": Retry(NoBackoff(), 0)}
    return Redis(connection_pool=ConnectionPool(connection_class=pool.connection_class, **options))

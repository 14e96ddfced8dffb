"""State behind Redis Sentinel, by a URL as Celery writes it: `sentinel://host:26379/0;sentinel://host2:26379/0`.

Celery takes the name of the primary from `broker_transport_options`; here it is part of the URL, which is all that the
rest of the package hands around: `…?master_name=mymaster` (and `&sentinel_password=…`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import redis.asyncio.sentinel
import redis.sentinel
from redis import Redis
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from marie_celery.errors import ConfigError

SCHEME = "sentinel://"
DEFAULT_PORT = 26379
# One that does not answer must not use up the time in which another would.
ASK_SECONDS = 1.0


def is_sentinel_url(url: str) -> bool:
    return url.startswith(SCHEME)


def with_transport_options(url: str, options: Mapping[str, Any]) -> str:
    """The broker's URL with what Celery keeps in `broker_transport_options`."""
    if not is_sentinel_url(url) or "master_name=" in url or "master_name" not in options:
        return url
    query = {"master_name": options["master_name"]}
    if password := options.get("sentinel_kwargs", {}).get("password"):
        query["sentinel_password"] = password
    return f"{url}{'&' if '?' in url else '?'}{urlencode(query)}"


class PlainSpokenSentinel(redis.sentinel.Sentinel):
    """The client's own error describes every connection of every sentinel."""

    def discover_master(self, service_name: str) -> Any:
        try:
            return super().discover_master(service_name)  # type: ignore[no-untyped-call]
        except redis.sentinel.MasterNotFoundError:
            raise redis.ConnectionError(_no_primary(service_name)) from None


class PlainSpokenAsyncSentinel(redis.asyncio.sentinel.Sentinel):
    async def discover_master(self, service_name: str) -> Any:
        try:
            return await super().discover_master(service_name)
        except redis.asyncio.sentinel.MasterNotFoundError:
            raise redis.ConnectionError(_no_primary(service_name)) from None
        finally:
            # Nobody else closes these, and they must not outlive the event loop.
            for asked in self.sentinels:
                await asked.aclose()


def _no_primary(name: str) -> str:
    return f"no sentinel answers with a primary called '{name}'"


class PrimaryConnection(redis.sentinel.SentinelManagedConnection):
    """Asks for the primary each time it connects. The client's own would try the old one again while it retries."""

    def connect_check_health(self, *args: Any, **options: Any) -> None:
        if not self._sock:
            self.host, self.port = self.connection_pool.get_master_address()
        super().connect_check_health(*args, **options)


class AsyncPrimaryConnection(redis.asyncio.sentinel.SentinelManagedConnection):
    async def connect_check_health(self, *args: Any, **options: Any) -> None:
        if not self.is_connected:
            self.host, self.port = await self.connection_pool.get_master_address()
        await super().connect_check_health(*args, **options)


def primary(url: str, options: Mapping[str, Any]) -> Redis:
    """A client of whatever server the sentinels call the primary."""
    made = {**options, "connection_class": PrimaryConnection}
    client: Redis = _client(PlainSpokenSentinel, Retry(NoBackoff(), 0), url, made)
    return client


def primary_async(url: str, options: Mapping[str, Any]) -> redis.asyncio.Redis:
    made = {**options, "connection_class": AsyncPrimaryConnection}
    client: redis.asyncio.Redis = _client(PlainSpokenAsyncSentinel, AsyncRetry(NoBackoff(), 0), url, made)
    return client


def _client(sentinel: Any, retry: Any, url: str, options: Mapping[str, Any]) -> Any:
    parts = [urlsplit(part) for part in url.split(";")]
    query = {name: value for part in parts for name, value in parse_qsl(part.query)}
    if "master_name" not in query:
        raise ConfigError(
            "a sentinel:// URL needs the name of the primary: set master_name in broker_transport_options, "
            "or append ?master_name=… to marie_redis_url"
        )
    password = next((unquote(part.password) for part in parts if part.password), None)
    username = next((unquote(part.username) for part in parts if part.username), None)
    database = next((part.path.strip("/") for part in parts if part.path.strip("/")), "0")
    asking = {
        "socket_timeout": ASK_SECONDS,
        "socket_connect_timeout": ASK_SECONDS,
        "password": query.get("sentinel_password"),
        # The caller's patience is over all of them.
        "retry": retry,
    }
    hosts = [(part.hostname or "localhost", part.port or DEFAULT_PORT) for part in parts]
    return sentinel(hosts, sentinel_kwargs=asking).master_for(
        query["master_name"], username=username, password=password, db=int(database), **options
    )

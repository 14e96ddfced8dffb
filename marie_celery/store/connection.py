"""Connecting to Redis, and finding out early whether it is fit for the work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis
import redis.asyncio
from redis import Redis
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

from marie_celery.errors import ServerError

OLDEST = (6, 2)
SOCKET_TIMEOUT = 10.0
# Blocking commands wait in slices well below the socket's time-out, so a dead peer is noticed.
BLOCK_SLICE = 4.0


def normalise_url(url: str) -> str:
    """Celery's spelling of a Redis URL in the client's."""
    if url.startswith("redis+socket://"):
        return "unix://" + url.removeprefix("redis+socket://").replace("virtual_host=", "db=")
    return url


def is_redis_url(url: str) -> bool:
    return url.startswith(("redis://", "rediss://", "unix://", "redis+socket://"))


def _options() -> dict[str, Any]:
    return {
        "decode_responses": True,
        "socket_timeout": SOCKET_TIMEOUT,
        "socket_connect_timeout": 5.0,
        "socket_keepalive": True,
        "health_check_interval": 30,
    }


def connect(url: str) -> Redis:
    # Every script checks the state before it writes, so sending one again after a lost answer is safe.
    retry = Retry(ExponentialBackoff(cap=1.0, base=0.05), retries=5)
    client: Redis = Redis.from_url(normalise_url(url), retry=retry, **_options())
    return client


def connect_async(url: str) -> redis.asyncio.Redis:
    client: redis.asyncio.Redis = redis.asyncio.Redis.from_url(normalise_url(url), **_options())
    return client


@contextmanager
def clear_errors(url: str) -> Iterator[None]:
    """Turns what the client raises when there is no usable server into one clear line."""
    try:
        yield
    except redis.AuthenticationError as error:
        raise ServerError(f"Redis at {hide_password(url)} refused the password: {error}") from None
    except (redis.ConnectionError, redis.TimeoutError) as error:
        raise ServerError(
            f"no Redis at {hide_password(url)}: {error}. Start one, or set MARIE_REDIS_URL"
        ) from None
    except ValueError as error:
        raise ServerError(f"'{hide_password(url)}' is not a Redis URL: {error}") from None


def check_server(client: Redis, url: str) -> list[str]:
    """Raises ServerError if this server cannot serve; returns warnings about what it might do to the data."""
    with clear_errors(url):
        version = str(client.info("server")["redis_version"])
        if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
            raise ServerError(f"Redis {version} is too old: marie_celery needs {OLDEST[0]}.{OLDEST[1]} or newer")
        try:
            client.eval("return redis.call('TIME')", 0)
        except redis.ResponseError as error:
            raise ServerError(f"Redis at {hide_password(url)} does not run scripts: {error}") from None
        return _warnings(client)


def _warnings(client: Redis) -> list[str]:
    try:
        policy = client.config_get("maxmemory-policy").get("maxmemory-policy", "noeviction")
    except redis.ResponseError:
        return []  # managed services hide CONFIG
    if policy == "noeviction":
        return []
    return [f"maxmemory-policy is '{policy}': Redis may drop jobs when memory is short; set it to 'noeviction'"]


def hide_password(url: str) -> str:
    head, at, tail = url.rpartition("@")
    if not at:
        return url
    scheme, _, _ = head.partition("://")
    return f"{scheme}://***@{tail}"

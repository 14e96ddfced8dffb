"""Connecting to Redis, and finding out early whether it is fit for the work."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis
import redis.asyncio
from redis import Redis
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import ExponentialBackoff

from marie_celery.errors import ServerError
from marie_celery.store.patience import Patience
from marie_celery.store.sentinel import is_sentinel_url, primary, primary_async

OLDEST = (6, 2)
SOCKET_TIMEOUT = 10.0
# Blocking commands wait in slices well below the socket's time-out, so a dead peer is noticed.
BLOCK_SLICE = 4.0
WAIT_SECONDS = 2.5
# A peer that vanished without a word is noticed within half a minute, also by a connection that only listens.
KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}


def normalise_url(url: str) -> str:
    """Celery's spelling of a Redis URL in the client's."""
    if url.startswith("redis+socket://"):
        return "unix://" + url.removeprefix("redis+socket://").replace("virtual_host=", "db=")
    if url.startswith("rediss://"):
        for needed in ("none", "optional", "required"):
            url = url.replace(f"ssl_cert_reqs=CERT_{needed.upper()}", f"ssl_cert_reqs={needed}")
    return url


def is_redis_url(url: str) -> bool:
    return is_sentinel_url(url) or url.startswith(("redis://", "rediss://", "unix://", "redis+socket://"))


def _options(url: str) -> dict[str, Any]:
    options: dict[str, Any] = {
        "decode_responses": True,
        "socket_timeout": SOCKET_TIMEOUT,
        "socket_connect_timeout": 5.0,
        "health_check_interval": 30,
    }
    if not url.startswith("unix://"):
        known = {getattr(socket, name): value for name, value in KEEPALIVE.items() if hasattr(socket, name)}
        options |= {"socket_keepalive": True, "socket_keepalive_options": known}
    return options


def connect(url: str, *, wait_seconds: float = WAIT_SECONDS) -> Redis:
    """A call waits up to `wait_seconds` for a Redis that is away, unless `patience.patient` says otherwise."""
    url = normalise_url(url)
    # Scripts check the state before they write, so sending one again after a lost answer is safe. A submit without a
    # key is the exception: it may be accepted twice.
    options = {**_options(url), "retry": Patience(wait_seconds)}
    client: Redis = primary(url, options) if is_sentinel_url(url) else Redis.from_url(url, **options)
    return client


def connect_async(url: str) -> redis.asyncio.Redis:
    url = normalise_url(url)
    errors = (redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError)
    options = {**_options(url), "retry": AsyncRetry(ExponentialBackoff(cap=0.5, base=0.05), 5, supported_errors=errors)}
    client: redis.asyncio.Redis = (
        primary_async(url, options) if is_sentinel_url(url) else redis.asyncio.Redis.from_url(url, **options)
    )
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
            f"no Redis at {hide_password(url)}: {str(error).rstrip('.')}. Start one, or set MARIE_REDIS_URL"
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

"""A Celery app whose results are large and secret."""

from __future__ import annotations

import os

from celery import Celery

from marie_celery import Marie, dag, task

app = Celery("payloads", broker=os.environ.get("CELERY_BROKER_URL", "redis://localhost:1/0"))
app.conf.update(accept_content=["json"], broker_connection_retry_on_startup=True, worker_hijack_root_logger=False)
app.conf.update(marie_encrypt="payload_app:flip", marie_decrypt="payload_app:flip", marie_compress_above=1000)
marie = Marie(app)


def flip(data: bytes) -> bytes:
    """No cipher, but no text either; its own inverse."""
    return bytes(255 - each for each in data)


@task(executor="main")
def grow(size: int) -> list[str]:
    return [f"secret {number:x}" for number in range(size)]


@task(executor="main")
def count(lines: list[str], of: str) -> int:
    return sum(line.startswith(of) for line in lines)


@dag
def grown_by_map(sizes: list[int], batch: int | None) -> list[int]:
    return count.map(grow.map(sizes, batch=batch), of="secret")


@dag
def grown(size: int) -> dict[str, object]:
    lines = grow(size)
    return {"count": count(lines, of="secret"), "last": lines[-1], "all": lines}

"""Listening, until told to stop."""

from __future__ import annotations

import socket
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI

from marie_celery.errors import ServerError

GOODBYE_SECONDS = 3


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int
    """0 = a free one."""

    def listen(self) -> socket.socket:
        """Bound here and not by the server, which would log its failure and exit."""
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            family, _, _, _, address = found[0]
            return socket.create_server(address[:2], family=family)
        except (OSError, OverflowError) as error:
            raise ServerError(f"cannot listen on {self}: {error}") from None

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address_of(listening: socket.socket, address: Address) -> Address:
    """Where it really listens: a free port was chosen by the system."""
    return Address(address.host, int(listening.getsockname()[1]))


def serve(app: FastAPI, listening: socket.socket, loglevel: str = "warning") -> None:
    """Until SIGINT or SIGTERM."""
    config = uvicorn.Config(
        app,
        log_level=loglevel,
        access_log=loglevel in ("debug", "info"),
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GOODBYE_SECONDS,
        lifespan="off",
        ws="none",
    )
    with listening:
        uvicorn.Server(config).run(sockets=[listening])

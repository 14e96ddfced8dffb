"""Asking an app without a network: one request in, one answer out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message

LOCAL = "localhost:54322"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        assert set(self.json) == {"error"}
        assert "Traceback" not in self.json["error"]
        return str(self.json["error"])

    @property
    def result(self) -> Any:
        assert self.status == 200, self.body
        assert set(self.json) == {"status", "result"}
        assert self.json["status"] == "OK"
        return self.json["result"]


def ask(app: ASGIApp, path: str, method: str = "GET", body: Any = None, **headers: str) -> Answer:
    """Underscores in the names of headers are dashes; a body travels as JSON."""
    given = {"host": LOCAL, **({} if body is None else {"content-type": "application/json"}), **headers}
    content = b"" if body is None else json.dumps(body).encode()
    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in given.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 54322),
    }
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    try:
        asyncio.run(_run(app, scope, receive, send))
    except Exception:
        if not sent:  # what is raised after the answer is for the log of the server
            raise
    start = sent[0]
    answered = {name.decode(): value.decode() for name, value in start["headers"]}
    return Answer(start["status"], answered, b"".join(message.get("body", b"") for message in sent[1:]))


async def _run(app: ASGIApp, *arguments: Any) -> None:
    await app(*arguments)

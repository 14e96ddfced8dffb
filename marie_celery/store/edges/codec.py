"""Messages as JSON.

A payload has to come out as it went in: what JSON cannot carry is refused, and so is what it would change, such as
a tuple or a dict with numbers as keys.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from marie_celery.errors import MarieError, PayloadError
from marie_celery.flow import Failure, Kind, Message
from marie_celery.flow.message import NO_HEADERS


class RemoteError(MarieError):
    """Stands for the exception of a node in another process, in the `Failure` that tells of it."""

    def __init__(self, type_name: str, text: str) -> None:
        self.type_name = type_name
        self.text = text
        super().__init__(f"{type_name}: {text}")


def encode(message: Message) -> str:
    body: dict[str, Any] = {"kind": message.kind.value, "trace_id": message.trace_id}
    if message.headers:
        body["headers"] = dict(message.headers)
    if isinstance(message.payload, Failure):
        body["failure"] = _failure_fields(message.payload)
    else:
        body["payload"] = message.payload
    try:
        text = json.dumps(body, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise PayloadError(f"JSON cannot carry {_shown(message.payload)}: {error}") from None
    if json.loads(text) != body:
        raise PayloadError(f"JSON would change {_shown(message.payload)}; use lists, and text as keys")
    return text


def decode(text: str) -> Message:
    body = json.loads(text)
    payload = _failure(body["failure"]) if "failure" in body else body["payload"]
    return Message(payload, Kind(body["kind"]), body.get("headers", NO_HEADERS), body["trace_id"])


def _failure_fields(failure: Failure) -> dict[str, Any]:
    """An exception does not travel, its name and text do. A payload that cannot is told by its repr."""
    try:
        message = encode(failure.message)
    except PayloadError:
        message = encode(failure.message.derive(repr(failure.message.payload)))
    error = failure.error
    if not isinstance(error, RemoteError):
        error = RemoteError(type(error).__name__, str(error))
    cause = [error.type_name, error.text]
    return {"node": failure.node, "port": failure.port, "message": message, "error": cause}


def _failure(fields: Mapping[str, Any]) -> Failure:
    return Failure(fields["node"], fields["port"], decode(fields["message"]), RemoteError(*fields["error"]))


def _shown(payload: object) -> str:
    text = repr(payload)
    return text if len(text) <= 80 else f"{text[:77]}…"

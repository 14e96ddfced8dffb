"""Who may ask. In front of everything else.

With a token every request must carry it, but `/healthz`. Without one we listen on the loopback only, and that alone is
not enough: a page in a browser on the same machine can send requests here, too. It cannot choose two headers, though:
`Host` is the name it used (DNS rebinding gives it away), and `Origin` says where it came from.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from marie_celery.errors import ConfigError

OPEN_TO_ALL = "/healthz"
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Guard:
    token: str = ""
    loopback: bool = True
    """Whether we listen on the loopback only."""

    def __post_init__(self) -> None:
        if self.token and not (self.token.isascii() and self.token.isprintable() and " " not in self.token):
            raise ConfigError("the token must be plain characters without spaces")
        if not (self.loopback or self.token):
            raise ConfigError("to listen beyond this machine a token is needed: set MARIE_WEB_TOKEN")

    def refusal(self, method: str, path: str, headers: Headers) -> tuple[int, str] | None:
        """Why not, as a status and a text; None = welcome."""
        if self.loopback and not all(map(_names_the_loopback, headers.getlist("host") or [""])):
            return 421, "this address is for this machine only: use localhost"
        if self.token:
            if path != OPEN_TO_ALL and not self._is_token(headers.get("authorization", "")):
                return 401, "send the header 'Authorization: Bearer <token>'"
        elif method not in SAFE_METHODS and not _comes_from_here(headers):
            return 403, "requests from pages of other sites change nothing here"
        return None

    def _is_token(self, authorization: str) -> bool:
        scheme, _, given = authorization.partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.token.encode())


def _names_the_loopback(host: str) -> bool:
    try:
        return is_loopback(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False


def _comes_from_here(headers: Headers) -> bool:
    """No page at all, or one of ours."""
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")


class Guarded:
    """The guard as a layer around the app."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app = app
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # nothing here speaks anything else
            await send({"type": "websocket.close", "code": 1008})
            return
        refusal = self._guard.refusal(scope["method"], scope["path"], Headers(scope=scope))
        if refusal is None:
            await self._app(scope, receive, send)
            return
        status, text = refusal
        more = {"WWW-Authenticate": "Bearer"} if status == 401 else None
        await JSONResponse({"error": text}, status, more)(scope, receive, send)

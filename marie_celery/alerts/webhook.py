"""Posts alerts as JSON to a URL. Nothing but the status of the answer is read; redirects are not followed."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from ipaddress import ip_address
from urllib.parse import urlsplit

from marie_celery.alerts.addresses import Resolver, checked_addresses, reason_to_refuse, resolve
from marie_celery.alerts.alert import Alert
from marie_celery.errors import ConfigError

SILENCE_SECONDS = 5.0
"""Longest silence of the other side."""
WHOLE_SECONDS = 15.0
"""Longest time for all of it, however slowly the other side goes on talking."""
PORTS = {"http": 80, "https": 443}


class Webhook:
    """A place to post to. Raises ConfigError if the URL cannot be one."""

    def __init__(
        self,
        url: str,
        *,
        allow_private: bool = False,
        resolver: Resolver = resolve,
        context: ssl.SSLContext | None = None,
        silence_seconds: float = SILENCE_SECONDS,
        whole_seconds: float = WHOLE_SECONDS,
    ) -> None:
        self._scheme, self.host, self.port, self._path = _parse(url)
        self._allow_private = allow_private
        self._resolver = resolver
        self._context = context
        self._silence_seconds = silence_seconds
        self._whole_seconds = whole_seconds
        if not allow_private:
            _refuse_private_literal(self.host)

    def __repr__(self) -> str:
        """Without the path, which often is a secret."""
        return f"webhook {self._scheme}://{self.host}:{self.port}"

    def __call__(self, alert: Alert) -> None:
        """Raises OSError or HTTPException if the alert was not taken."""
        status = self._post(json.dumps(alert.payload()).encode())
        if 300 <= status < 400:
            raise HTTPException(f"the answer was {status}, and redirects are not followed")
        if not 200 <= status < 300:
            raise HTTPException(f"the answer was {status}")

    def _post(self, body: bytes) -> int:
        addresses = checked_addresses(
            self.host, self.port, allow_private=self._allow_private, resolver=self._resolver
        )
        connection = _Pinned(self.host, self.port, addresses, self._tls(), self._silence_seconds)
        guard = threading.Timer(self._whole_seconds, connection.cut)
        guard.daemon = True
        guard.start()
        try:
            headers = {"Content-Type": "application/json", "User-Agent": "marie-celery", "Connection": "close"}
            connection.request("POST", self._path, body, headers)
            response: HTTPResponse = connection.getresponse()
            if connection.was_cut:
                raise TimeoutError(f"there was no whole answer in {self._whole_seconds} s")
            return response.status
        finally:
            guard.cancel()
            connection.close()

    def _tls(self) -> ssl.SSLContext | None:
        if self._scheme == "http":
            return None
        return self._context or ssl.create_default_context()


class _Pinned(HTTPConnection):
    """Connects to one of the given addresses, whatever the host's name means by now. With TLS, the certificate must be
    the host's."""

    def __init__(
        self, host: str, port: int, addresses: list[str], context: ssl.SSLContext | None, timeout: float
    ) -> None:
        super().__init__(host, port, timeout=timeout)
        # http.client leaves out of the Host header the port that is usual for the scheme.
        self.default_port = PORTS["http" if context is None else "https"]
        self._addresses = addresses
        self._context = context
        self._seconds = timeout
        self.was_cut = False

    def connect(self) -> None:
        plain = self._reach()
        if self._context is None:
            self.sock = plain
            return
        try:
            self.sock = self._context.wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            raise

    def _reach(self) -> socket.socket:
        errors = []
        for address in self._addresses:
            try:
                return socket.create_connection((address, self.port), self._seconds)
            except OSError as error:
                errors.append(f"{address}: {error}")
        raise OSError("; ".join(errors))

    def cut(self) -> None:
        """From another thread: what is being read ends now."""
        self.was_cut = True
        if self.sock is not None:
            with suppress(OSError):
                self.sock.shutdown(socket.SHUT_RDWR)


def _parse(url: str) -> tuple[str, str, int, str]:
    if any(character <= " " or character == "\x7f" for character in url):
        raise ConfigError("alert_webhook has a blank or a control character in it")
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode()
    except (ValueError, UnicodeError) as error:
        raise ConfigError(f"alert_webhook is no URL: {error}") from None
    if parts.scheme not in PORTS:
        raise ConfigError(f"alert_webhook must begin with http:// or https://, not '{parts.scheme}'")
    if not host or port == 0:
        raise ConfigError(f"alert_webhook names no {'port' if host else 'host'}")
    if "@" in parts.netloc:
        raise ConfigError("alert_webhook has a user or a password in it, which is not supported")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii():
        raise ConfigError("alert_webhook has characters in its path that a URL cannot have; write them as %…")
    return parts.scheme, host, port or PORTS[parts.scheme], path


def _refuse_private_literal(host: str) -> None:
    """A name is looked up when there is something to tell; an address can be judged at once."""
    try:
        ip_address(host)
    except ValueError:
        return
    if why := reason_to_refuse(host):
        raise ConfigError(f"alert_webhook leads to {host}, {why}; set alert_allow_private to allow it")

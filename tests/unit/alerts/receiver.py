"""A web server for one test, which does as it is told."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class Receiver:
    """Notes what is posted and answers with the given statuses, the last of them for ever."""

    def __init__(
        self, *statuses: int, answer: Callable[[BaseHTTPRequestHandler], None] | None = None,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.posts: list[tuple[str, dict[str, str], Any]] = []
        self.got_one = threading.Semaphore(0)
        left = list(statuses or (200,))
        posts, got_one = self.posts, self.got_one

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                posts.append((self.path, dict(self.headers), json.loads(body)))
                if answer is not None:
                    answer(self)
                else:
                    self.send_response(left.pop(0) if len(left) > 1 else left[0])
                    self.send_header("Location", "http://127.0.0.1:1/elsewhere")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                got_one.release()

            def log_message(self, *_: object) -> None:
                """Tests are quiet."""

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None:
                """A client that hangs up is what some tests want."""

        self._server = Server(("127.0.0.1", 0), Handler)
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def url(self, host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}/hook?key=secret"

    def wait(self, times: int = 1) -> None:
        for _ in range(times):
            assert self.got_one.acquire(timeout=20)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

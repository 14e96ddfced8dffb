"""A server that is just enough to be asked whether it is fit for the work."""

from __future__ import annotations

import socketserver
import threading
from types import TracebackType
from typing import Self


class FakeServer(socketserver.ThreadingTCPServer):
    """Answers INFO with a version of choice, and OK to most of the rest."""

    daemon_threads = True
    block_on_close = False  # a client may keep its connection

    def __init__(self, version: str) -> None:
        super().__init__(("127.0.0.1", 0), _Conversation)
        self.version = version
        self.asked: set[str] = set()
        self.url = f"redis://127.0.0.1:{self.server_address[1]}/0"
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Conversation(socketserver.StreamRequestHandler):
    server: FakeServer

    def handle(self) -> None:
        while header := self.rfile.readline():
            words = []
            for _ in range(int(header[1:])):
                length = int(self.rfile.readline()[1:])
                words.append(self.rfile.read(length + 2)[:-2].decode())
            command = words[0].upper()
            self.server.asked.add(command)
            self.wfile.write(self._reply(command))

    def _reply(self, command: str) -> bytes:
        version = self.server.version
        if command == "HELLO" and version >= "6":
            return b"%1\r\n$5\r\nproto\r\n:3\r\n"
        if command == "PING":
            return b"+PONG\r\n"
        if command == "INFO":
            text = f"# Server\r\nredis_version:{version}\r\n"
            return f"${len(text)}\r\n{text}\r\n".encode()
        if command in ("HELLO", "CLIENT", "CONFIG"):
            return f"-ERR unknown command `{command}`, with args beginning with: \r\n".encode()
        return b"+OK\r\n"

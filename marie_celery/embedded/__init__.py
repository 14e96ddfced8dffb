"""A real Redis-protocol server as a child process, for development and tests.

    with EmbeddedServer() as server:
        redis.Redis.from_url(server.url).ping()

The server belongs to the process that started it. A watcher process (`watcher.py`) runs it and holds the
reading end of a pipe, the lifeline (`lifeline.py`); only the owner has the writing end. However the owner
ends, the pipe closes, and the watcher ends the server and removes its temporary directory. Children that the
owner forks give their copy of the lifeline up at once, so they neither keep the server alive nor stop it.
"""

from marie_celery.embedded.executable import find_executable
from marie_celery.embedded.server import EmbeddedServer

__all__ = ["EmbeddedServer", "find_executable"]

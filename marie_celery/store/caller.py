"""Calling the scripts: one client, one namespace, one clock."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from redis import Redis, RedisError, ResponseError
from redis.commands.core import Script
from redis.exceptions import NoPermissionError

from marie_celery.config import Settings
from marie_celery.store.functions import library
from marie_celery.store.keys import Keys
from marie_celery.store.line import Line
from marie_celery.store.scripts import source

log = logging.getLogger(__name__)


class Caller:
    """Holds one connection pool; never share it with a forked child."""

    def __init__(self, client: Redis, settings: Settings, now_ms: int | None = None) -> None:
        self.client: Any = client  # answers are text (decode_responses), which the client's types cannot tell
        self.settings = settings
        self.keys = Keys(settings.namespace)
        self.now_ms = now_ms
        """A test's clock; None is the time of Redis."""
        self._keeps_functions = True
        """Until the server says otherwise."""
        self._line: Line | None = None
        self._scripts: dict[str, Script] = {}

    def call(self, name: str, *arguments: object) -> Any:
        clock = "" if self.now_ms is None else self.now_ms
        given: list[Any] = [clock, self.settings.max_events, *arguments]
        if self._keeps_functions:
            return self._call_function(name, given)
        return self._call_script(name, given)

    def open_line(self, look_seconds: float) -> None:
        """From now on the calls of this thread go over a connection of their own."""
        if self._line is None:
            self._line = Line(self.client, look_seconds)

    def _call_function(self, name: str, given: list[Any]) -> Any:
        function = library().function(name)
        if self._line is not None and self._line.is_mine:
            try:
                return self._line.call("FCALL", function, 1, self.keys.prefix, *given)
            except RedisError as error:
                log.debug("%s by the short way: %s", name, error)
        try:
            return self.client.fcall(function, 1, self.keys.prefix, *given)
        except ResponseError as error:
            if not str(error).startswith("Function not found"):
                if not _is_refused(error):
                    raise
                self._keeps_functions = False
                return self._call_script(name, given)
        try:
            self.client.function_load(library().text)
        except ResponseError as error:
            # Somebody else was faster, or this user may not keep functions.
            self._keeps_functions = "already exists" in str(error)
        return self.call(name, *given[2:])

    def _call_script(self, name: str, given: list[Any]) -> Any:
        if name not in self._scripts:
            self._scripts[name] = self.client.register_script(source(name))
        return self._scripts[name](keys=[self.keys.prefix], args=given)

    def read_clock(self) -> int:
        """The time of Redis, or of the test, in milliseconds."""
        if self.now_ms is not None:
            return self.now_ms
        seconds, micros = self.client.time()
        return int(seconds) * 1000 + int(micros) // 1000


def _is_refused(error: ResponseError) -> bool:
    """A server before version 7, or a user without the right to call functions."""
    return isinstance(error, NoPermissionError) or "unknown command" in str(error).lower()


def in_ms(seconds: float) -> int:
    return round(seconds * 1000)


def in_seconds(ms: int) -> float | None:
    """What the scripts say as milliseconds until something, -1 = never."""
    return None if ms < 0 else ms / 1000


def maybe_int(text: str | int | None) -> int | None:
    return None if text is None else int(text)


def flat(mapping: Mapping[str, object]) -> list[object]:
    return [part for pair in mapping.items() for part in pair]


def counted(mapping: Mapping[str, object]) -> list[object]:
    """A mapping as the scripts read it: how many pairs, then the pairs."""
    return [len(mapping), *flat(mapping)]


def pairs(flat: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    return zip(flat[::2], flat[1::2], strict=True)


def as_mapping(flat: Sequence[str]) -> dict[str, str]:
    return dict(pairs(flat))

"""Lets those go who were short of something. The scripts know most managers; those of the user's own are asked here."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import redis

from marie_celery.config import Settings
from marie_celery.resources.own import Decision, decide, manager_class
from marie_celery.resources.settings import OwnSettings
from marie_celery.store.grants import Claims
from marie_celery.store.store import Store

log = logging.getLogger(__name__)


class Supplier:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._told: set[str] = set()

    def step(self) -> tuple[int, float | None]:
        """How many lines were looked at, and the seconds until the next look."""
        looked, next_seconds = self._store.supply()
        for name, path in self._own():
            try:
                went, retry_seconds = self._grant(name, path)
                looked += went
                next_seconds = earlier(next_seconds, retry_seconds)
            except redis.RedisError:
                raise
            except Exception:
                # Foreign code: its jobs wait, all others go on.
                log.exception("the manager of resource '%s' stumbled", name)
        return looked, next_seconds

    def _own(self) -> Iterator[tuple[str, str]]:
        """Resource → class. A path that came from Redis imports nothing that the settings do not name."""
        named = {name: own.path for name, own in self._settings.resources.items() if isinstance(own, OwnSettings)}
        if not named:
            return
        for name, current in self._store.resources().items():
            if not isinstance(current, OwnSettings):
                continue
            if named.get(name) == current.path:
                yield name, current.path
            elif name not in self._told:
                self._told.add(name)
                log.error("resource '%s' has the manager '%s', which the settings do not name", name, current.path)

    def _grant(self, name: str, path: str) -> tuple[int, float | None]:
        """How many may go, and in how many seconds time alone may help others."""
        claims = self._store.claims(name)
        if not (claims.applicants or claims.returned or claims.forgotten):
            return 0, None
        decision = self._decision(path, claims)
        went = self._store.grant(name, claims, decision) or 0
        retry = decision.retry_at_ms
        return went, None if retry is None else (retry - claims.now_ms) / 1000

    def _decision(self, path: str, claims: Claims) -> Decision:
        kind = manager_class(path)
        manager = kind() if claims.state is None else kind.from_state(claims.state)
        gone = [*claims.returned, *claims.forgotten]
        return decide(manager, gone, claims.applicants, claims.now_ms, self._settings.max_skips)


def earlier(one: float | None, other: float | None) -> float | None:
    return min((each for each in (one, other) if each is not None), default=None)

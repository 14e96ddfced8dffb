"""Takes alerts out of Redis and gives them to the courier, as many as it has room for."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from redis import RedisError

from marie_celery.alerts.alert import Alert
from marie_celery.alerts.callbacks import CALLBACKS
from marie_celery.alerts.courier import PAUSES, Courier, Receiver
from marie_celery.alerts.webhook import Webhook
from marie_celery.errors import UnknownRun
from marie_celery.scheduler.services import Service
from marie_celery.scheduler.turns import Turn
from marie_celery.store.caller import Caller
from marie_celery.store.reading import Reader

log = logging.getLogger(__name__)

AT_ONCE = 20
FULL_SECONDS = 1.0
"""After so long it looks whether the courier has room again."""

SENT, LOST = "alertsSent", "alertsLost"


class Alerter(Service):
    """Every alert is logged, whoever else is told."""

    def __init__(self, store: Caller, webhook: Webhook | None = None, *, pauses: Sequence[float] = PAUSES) -> None:
        super().__init__("alerter")
        self._store = store
        self._reader = Reader(store.client, store.keys)
        receivers: list[Receiver] = [*CALLBACKS, *([webhook] if webhook else [])]
        self._courier = Courier(receivers, self._describe, self._settled, pauses=pauses)
        self._has_receivers = bool(receivers)

    def on_start(self) -> None:
        self._courier.start()

    def on_stop(self) -> None:
        left = self._courier.stop()
        if not left:
            return
        texts = [json.dumps({"kind": alert.kind, "run": alert.run, "at": alert.at}) for alert in left]
        self._try(lambda: self._store.client.lpush(self._store.keys.alerts, *reversed(texts)), "put back alerts")

    def turn(self) -> Turn:
        room = min(AT_ONCE, self._courier.room)
        if room <= 0:
            return Turn(self.name, next_seconds=FULL_SECONDS)
        found = self._store.client.lpop(self._store.keys.alerts, room) or []
        for text in found:
            self._take(text)
        # A full batch: there may be more. Otherwise the survey tells.
        return Turn(self.name, next_seconds=0.0 if len(found) == room else None)

    def _take(self, text: str) -> None:
        try:
            alert = Alert.parse(text)
        except ValueError as error:
            log.error("%s", error)
            self._count(LOST)
            return
        log.warning("%s", alert.text)
        if self._has_receivers:
            self._courier.take(alert)

    def _describe(self, alert: Alert) -> Alert:
        try:
            return alert.about(self._reader.run(alert.run))
        except UnknownRun:
            return replace(alert, state="unknown")

    def _settled(self, alert: Alert, sent: bool) -> None:
        self._count(SENT if sent else LOST)

    def _count(self, counter: str) -> None:
        self._try(lambda: self._store.client.hincrby(self._store.keys.counters, counter, 1), f"count {counter}")

    @staticmethod
    def _try(step: Callable[[], object], what: str) -> None:
        try:
            step()
        except RedisError as error:
            log.warning("could not %s: %s", what, error)


def alerter(store: Caller, url: str | None, *, allow_private: bool) -> Alerter:
    """As the settings say. Raises ConfigError for a bad URL."""
    return Alerter(store, Webhook(url, allow_private=allow_private) if url else None)

"""Tells the others that this scheduler is at work, and what its graph looks like."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from typing import Any

from marie_celery.config import Settings
from marie_celery.scheduler.services import Service
from marie_celery.scheduler.turns import Turn
from marie_celery.store.store import Store


class Herald(Service):
    def __init__(
        self,
        store: Store,
        scheduler: str,
        settings: Settings,
        graph: Callable[[], dict[str, Any]],
        is_paused: Callable[[], bool],
    ) -> None:
        super().__init__("herald")
        self._store = store
        self._scheduler = scheduler
        self._settings = settings
        self._graph = graph
        self._is_paused = is_paused

    def turn(self) -> Turn:
        self.announce()
        return Turn(self.name, next_seconds=self._settings.heartbeat_seconds)

    def announce(self) -> None:
        facts = {
            "host": socket.gethostname(),
            "pid": str(os.getpid()),
            "paused": str(int(self._is_paused())),
            "graph": json.dumps(self._graph()),
        }
        self._store.enlist(self._scheduler, facts, exclusive=not self._settings.distributed_scheduler)

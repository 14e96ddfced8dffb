"""Slow duties: forgetting what is old, and looking for what should not be."""

from __future__ import annotations

import logging

from marie_celery.archive import Sink, record_of
from marie_celery.errors import UnknownRun
from marie_celery.payloads import Payloads
from marie_celery.scheduler.services import Service
from marie_celery.scheduler.turns import Turn
from marie_celery.store.reading import Reader
from marie_celery.store.store import Store

log = logging.getLogger(__name__)

RUNS_PER_TURN = 5


class Pruner(Service):
    """Archives and forgets runs that ended longer ago than `retention`. A run that cannot be archived stays."""

    EVERY = 30.0

    def __init__(self, store: Store, sink: Sink | None) -> None:
        super().__init__("pruner")
        self._store = store
        self._sink = sink
        self._payloads = Payloads.of(store)
        self._reader = Reader(store.client, store.keys)

    def turn(self) -> Turn:
        before_ms, runs = self._store.prunable(RUNS_PER_TURN)
        for run in runs:
            if self._sink is not None and not self._archive(run, self._sink):
                return Turn(self.name, next_seconds=self.EVERY)
            if self._store.prune(run, before_ms):
                self._forget_payloads(run)
        return Turn(self.name, worked=bool(runs), next_seconds=0.0 if len(runs) == RUNS_PER_TURN else self.EVERY)

    def _forget_payloads(self, run: str) -> None:
        try:
            self._payloads.forget(run)
        except Exception:
            # Maybe foreign code. The run is gone, so this is not tried again: what is left is left to its owner.
            log.exception("the large results of run %s could not be deleted", run)

    def _archive(self, run: str, sink: Sink) -> bool:
        try:
            sink(record_of(self._reader, run, self._payloads))
        except UnknownRun:
            log.debug("run %s was pruned by another scheduler", run)
        except Exception:
            # The sink is foreign code; losing a run to its error would be worse than keeping it.
            log.exception("run %s could not be archived and is kept", run)
            return False
        return True


class Reconciler(Service):
    """Walks over open runs, a few at a time, and puts right what does not fit. It should never find anything."""

    EVERY = 5.0

    def __init__(self, store: Store) -> None:
        super().__init__("reconciler")
        self._store = store
        self._position = 0

    def turn(self) -> Turn:
        client, keys = self._store.client, self._store.keys
        runs = client.zrange(keys.active, self._position, self._position + RUNS_PER_TURN - 1)
        self._position = self._position + RUNS_PER_TURN if len(runs) == RUNS_PER_TURN else 0
        for run in runs:
            for job, what in self._store.reconcile(run).items():
                log.error("job %s was %s; it has been put right", job, what)
        return Turn(self.name, next_seconds=self.EVERY)

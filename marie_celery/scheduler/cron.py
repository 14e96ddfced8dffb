"""Fires schedules. Any number of schedulers try; each slot is taken by one."""

from __future__ import annotations

from marie_celery.scheduler.services import Service
from marie_celery.scheduler.turns import Turn
from marie_celery.schedules.desk import Desk
from marie_celery.schedules.firing import Firing, Submit
from marie_celery.schedules.registry import SCHEDULES
from marie_celery.store.schedules import Scheduling

MOST = 1000
AT_ONCE = 10
"""So many schedules are tended in one turn: a submission takes a while, and the graph has other duties."""
LONGEST = 5.0
"""After so many seconds it looks at the latest, should nobody tell that a schedule has changed."""


class Cron(Service):
    def __init__(self, store: Scheduling, submit: Submit, app: str) -> None:
        super().__init__("cron")
        self._store = store
        self._firing = Firing(store, submit)
        self._app = app
        self._is_installed = False

    def turn(self) -> Turn:
        if not self._is_installed:
            Desk(self._store).install(SCHEDULES, self._app)
            self._is_installed = True
        look = self._store.look_at_schedules(MOST)
        tended = 0
        for due in look.due:
            tended += self._firing.tend(due, look.now_ms)
            if tended == AT_ONCE:
                break
        if tended:
            return Turn(self.name, worked=True, next_seconds=0.0)
        return Turn(self.name, next_seconds=LONGEST if look.next_ms < 0 else min(LONGEST, look.next_ms / 1000))

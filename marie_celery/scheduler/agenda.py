"""Who is due, and when. Events make the survey due at once; everything else has a time."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

from marie_celery.clock import Clock
from marie_celery.flow import Message, Node, Port
from marie_celery.scheduler.pace import Pace
from marie_celery.scheduler.turns import Due, Turn

log = logging.getLogger(__name__)

SURVEY = "surveyor"
TICK_MS = 25.0


class Agenda(Node):
    """Reads the clock often and Redis never. Each duty has an output of its name."""

    inputs = (Port("wake"), Port("turns", Turn))
    tick_interval_ms = TICK_MS

    def __init__(self, duties: Sequence[str], clock: Clock) -> None:
        super().__init__("agenda", outputs=[Port(duty, Due) for duty in duties])
        self._clock = clock
        self._pace = Pace()
        now = clock.monotonic()
        self._due = dict.fromkeys(duties, now)
        self._failing = False
        self._worked = False

    def on_message(self, port: str, message: Message) -> None:
        if port == "wake":
            self._make_due(SURVEY, 0.0)
        else:
            self._note(message.payload)
        self.on_tick()

    def on_tick(self) -> None:
        now = self._clock.monotonic()
        for duty, due in self._due.items():
            if due <= now:
                # It tells when it is due again; should it never answer, the safety net is the longest pause.
                self._due[duty] = math.inf if duty != SURVEY else now + Pace.LONGEST
                self.emit(duty, Due())

    def _note(self, turn: Turn) -> None:
        if turn.error:
            self._back_off(turn)
            return
        if self._failing:
            self._failing = False
            log.info("Redis answers again")
            for duty in self._due:
                self._make_due(duty, 0.0)
        for duty, seconds in turn.dues.items():
            self._make_due(duty, seconds)
        if turn.next_seconds is not None:
            self._make_due(turn.duty, turn.next_seconds)
        if turn.worked:
            self._worked = True
            self._make_due(SURVEY, 0.0)
        elif turn.duty == SURVEY:
            self._make_due(SURVEY, self._pace.after(worked=self._worked, slots_free=turn.slots_free))
            self._worked = False

    def _make_due(self, duty: str, seconds: float) -> None:
        if duty in self._due:
            self._due[duty] = min(self._due[duty], self._clock.monotonic() + seconds)

    def _back_off(self, turn: Turn) -> None:
        seconds = self._pace.after_error()
        if not self._failing:
            log.error("%s: Redis: %s; next try in %.1f s", turn.duty, turn.error, seconds)
        self._failing = True
        again = self._clock.monotonic() + seconds
        for duty in self._due:
            self._due[duty] = again

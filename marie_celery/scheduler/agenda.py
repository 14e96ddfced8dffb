"""Who is due, and when. Events make the survey due at once; everything else has a time."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

from marie_celery.clock import Clock
from marie_celery.flow import Message, Node, Port
from marie_celery.scheduler.pace import WORKING, Pace
from marie_celery.scheduler.turns import Due, Turn

log = logging.getLogger(__name__)

SURVEY = "surveyor"
REDIS_IS_BACK = "back"
"""What a wake-up says when the listener was cut off and hears again."""
TICK_MS = 25.0


class Agenda(Node):
    """Reads the clock often and Redis never. Each duty has an output of its name."""

    inputs = (Port("wake"), Port("turns", Turn))
    tick_interval_ms = TICK_MS

    def __init__(self, duties: Sequence[str], clock: Clock) -> None:
        super().__init__("agenda", outputs=[Port(duty, Due) for duty in duties])
        self._clock = clock
        self._pace = Pace()
        self._due = dict.fromkeys(duties, clock.monotonic())
        self._worked = False
        self._failing: set[str] = set()
        self._trouble = Pace(WORKING)
        self._again = 0.0
        """When those that fail may try again."""

    def on_message(self, port: str, message: Message) -> None:
        if port == "turns":
            self._note(message.payload)
        elif message.payload == REDIS_IS_BACK:
            self._again = self._clock.monotonic()
            for duty in self._due:
                self._make_due(duty, 0.0)
        else:
            self._make_due(SURVEY, 0.0)
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
        if turn.duty in self._failing:
            self._recovered(turn.duty)
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
        if duty not in self._due:
            return
        moment = self._clock.monotonic() + seconds
        if self._is_failing(duty):
            moment = max(moment, self._again)
        self._due[duty] = min(self._due[duty], moment)

    def _is_failing(self, duty: str) -> bool:
        # The dispatcher is not due by itself: a survey is what makes it try again.
        return duty in self._failing or (duty == SURVEY and not self._failing <= self._due.keys())

    def _back_off(self, turn: Turn) -> None:
        now = self._clock.monotonic()
        if now >= self._again:  # what fails in the same moment waits together
            seconds = self._trouble.after_error()
            self._again = now + seconds
            if not self._failing:
                log.error("%s: %s; next try in %.2f s", turn.duty, turn.error, seconds)
        self._failing.add(turn.duty)
        self._due[turn.duty if turn.duty in self._due else SURVEY] = self._again

    def _recovered(self, duty: str) -> None:
        self._failing.discard(duty)
        if not self._failing:
            self._trouble = Pace(WORKING)
            log.info("%s goes on", duty)
        for each in self._due:
            self._make_due(each, 0.0)

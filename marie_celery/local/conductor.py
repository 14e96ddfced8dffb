"""One run on its way: the engine, the jobs that are ready, and what waits for its time.

Knows nothing of threads or event loops; whoever drives it makes sure that one thing happens at a time.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from marie_celery.clock import Clock
from marie_celery.config import Settings
from marie_celery.errors import MarieError
from marie_celery.local.attempt import Attempt
from marie_celery.local.engine import Engine
from marie_celery.local.events import Begun, Cancelled, Effect, Event, MakeReady, Refused, Report, WaitFor
from marie_celery.local.expansion import expand
from marie_celery.local.jobs import Job
from marie_celery.local.ready import FirstInFirstOut, Line, Planned
from marie_celery.model.states import WorkState
from marie_celery.store.keys import RUN_ID_LENGTH
from marie_celery.store.records import NewRun

if TYPE_CHECKING:
    from marie_celery.authoring.task import Task


class Conductor:
    def __init__(
        self, new: NewRun, tasks: Mapping[str, Task[..., Any]], settings: Settings, clock: Clock, *, bounded: bool
    ) -> None:
        self.new = new
        self.tasks = tasks
        self.run_id = mint_run_id(clock)
        self._settings = settings
        self._clock = clock
        self._began = clock.monotonic()
        self.created_ms = clock.epoch_us() // 1000
        self.engine = Engine(new, self.created_ms, settings.on_hard_sla)
        self._line: Line = Planned(settings, self.created_ms) if bounded else FirstInFirstOut()
        self._timers: list[tuple[float, int, Event]] = []
        self._timer_ids = itertools.count()
        self._apply(self.engine.begin())

    @property
    def over(self) -> bool:
        return self.engine.state.terminal

    @property
    def ready(self) -> int:
        """How many jobs could be taken; an upper bound, for some may have been stopped since."""
        return len(self._line)

    def take(self) -> Attempt | None:
        """The best of the ready jobs, begun; None if there is none."""
        self.be_on_time()
        while len(self._line):
            job = self.engine.jobs[self._line.take(self.now_ms())]
            if job.state is not WorkState.READY:
                continue  # stopped while it stood in line
            self._apply(self.engine.handle(Begun(job.number)))
            return Attempt(
                job,
                job.attempt,
                self.tasks[job.task],
                self.run_id,
                self.new.fields["dag"],
                self._result_text,
                self._settings.max_result_bytes,
            )
        return None

    def report(self, report: Report) -> None:
        # It may have expired while it ran.
        self.be_on_time()
        self._apply(self.engine.handle(report))

    def cancel(self, reason: str = "cancelled") -> None:
        self._apply(self.engine.handle(Cancelled(reason)))

    def seconds_to_next(self) -> float | None:
        """Until something happens by time alone; None if nothing will."""
        if self.over or not self._timers:
            return None
        return max(0.0, self._timers[0][0] - self._clock.monotonic())

    def now_ms(self) -> int:
        return self.created_ms + round((self._clock.monotonic() - self._began) * 1000)

    def be_on_time(self) -> None:
        """Let happen what is due."""
        while self._timers and not self.over and self._timers[0][0] <= self._clock.monotonic():
            _, _, event = heappop(self._timers)
            self._apply(self.engine.handle(event))

    def _apply(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, MakeReady):
                self._line.put(self.engine.jobs[effect.number], self.now_ms())
            elif isinstance(effect, WaitFor):
                due = self._clock.monotonic() + effect.seconds
                heappush(self._timers, (due, next(self._timer_ids), effect.event))
            else:
                self._apply(self.engine.handle(self._expand(self.engine.jobs[effect.number])))

    def _expand(self, job: Job) -> Event:
        try:
            return expand(job, len(self.engine.jobs), self._result_text, self._settings.max_map_length, self.now_ms())
        except MarieError as error:
            return Refused(job.number, {"type": type(error).__name__, "message": str(error)})

    def _result_text(self, number: int) -> str | None:
        return self.engine.jobs[number].result


_minting = threading.Lock()
_last_minted = 0


def mint_run_id(clock: Clock) -> str:
    """As the submit script does it: microseconds, and never the same twice."""
    global _last_minted
    with _minting:
        _last_minted = max(clock.epoch_us(), _last_minted + 1)
        return f"{_last_minted:0{RUN_ID_LENGTH}x}"

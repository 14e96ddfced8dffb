"""A scheduler's agenda with duties whose answers a test decides, on a virtual clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from marie_celery.clock import VirtualClock
from marie_celery.flow import LATEST
from marie_celery.scheduler.agenda import Agenda
from marie_celery.scheduler.services import Service
from marie_celery.scheduler.turns import Turn
from tests.unit.flow.flow_kit import drive, live, virtual

Answer = Callable[[], Turn]


class Duty(Service):
    """Notes when it is due, and answers what the test says."""

    def __init__(self, name: str, clock: VirtualClock, answer: Answer) -> None:
        super().__init__(name)
        self.answer = answer
        self.times: list[float] = []
        self._clock = clock

    def turn(self) -> Turn:
        self.times.append(round(self._clock.monotonic(), 3))
        return self.answer()


class Office:
    """The agenda and its duties, wired as in the scheduler's process."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.clock = VirtualClock()
        self.duties = {name: Duty(name, self.clock, answer) for name, answer in answers.items()}
        self._graph = virtual(Agenda(list(answers), self.clock), *self.duties.values(), clock=self.clock)
        for name in answers:
            self._graph.connect(f"agenda:{name}", f"{name}:due", capacity=1, policy=LATEST)
            self._graph.connect(f"{name}:turn", "agenda:turns")
        self._graph.inlet("agenda:wake", capacity=1, policy=LATEST)
        self._graph.start()

    def live(self, seconds: float) -> None:
        live(self._graph, self.clock, seconds)

    def turns_at_once(self, most: int) -> int:
        """Takes turns while the clock stands still, until nothing is ready or for so many."""
        return drive(self._graph, most)

    def wake(self) -> None:
        self._graph.inject("agenda", "wake", None)
        drive(self._graph)

    def pauses(self, duty: str) -> list[float]:
        times = self.duties[duty].times
        return [round(later - earlier, 2) for earlier, later in pairwise(times)]

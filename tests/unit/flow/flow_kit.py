"""Nodes and a driver for the tests of the runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from marie_celery.clock import VirtualClock
from marie_celery.flow import DROP, Message, Metrics, Node, Port, Scheduler, SchedulerConfig, Waiter


class Source(Node):
    """Sends its items one by one, as fast as it gets turns: it wakes itself over an edge of its own."""

    inputs = (Port("next"),)
    outputs = (Port("out"), Port("next"))

    def __init__(self, name: str, items: Iterable[Any], **options: Any) -> None:
        super().__init__(name, **options)
        self.items = list(items)
        self.sent = 0

    def on_start(self) -> None:
        if self.items:
            self.emit("next", None)

    def on_message(self, port: str, message: Message) -> None:
        self.emit("out", Message(self.items[self.sent]))
        self.sent += 1
        if self.sent < len(self.items):
            self.emit("next", None)


class Spinner(Node):
    """Always ready: every message it gets makes the next one."""

    inputs = (Port("spin"),)
    outputs = (Port("spin"),)

    def __init__(self, name: str, on_turn: Callable[[str], None] | None = None, **options: Any) -> None:
        super().__init__(name, **options)
        self.turns = 0
        self.on_turn = on_turn

    def on_start(self) -> None:
        self.emit("spin", None)

    def on_message(self, port: str, message: Message) -> None:
        self.turns += 1
        if self.on_turn is not None:
            self.on_turn(self.name)
        self.emit("spin", None)


class Relay(Node):
    inputs = (Port("in"),)
    outputs = (Port("out"),)

    def on_message(self, port: str, message: Message) -> None:
        self.emit("out", message)


class Sink(Node):
    inputs = (Port("in"), Port("control"))

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self.got: list[Any] = []
        self.ports: list[str] = []

    def on_message(self, port: str, message: Message) -> None:
        self.ports.append(port)
        self.got.append(message.payload)


class Burst(Node):
    """Emits a whole list in one callback, for every message it gets."""

    inputs = (Port("go"),)
    outputs = (Port("out"), Port("other"))

    def __init__(self, name: str, items: Iterable[Any], other: Iterable[Any] = (), **options: Any) -> None:
        super().__init__(name, **options)
        self.items = list(items)
        self.other = list(other)
        self.calls = 0

    def on_message(self, port: str, message: Message) -> None:
        self.calls += 1
        for item in self.items:
            self.emit("out", item)
        for item in self.other:
            self.emit("other", item)


class Ticker(Node):
    outputs = (Port("out"),)

    def __init__(self, name: str, act: Callable[[Ticker], None] | None = None, **options: Any) -> None:
        super().__init__(name, **options)
        self.ticks = 0
        self.act = act

    def on_tick(self) -> None:
        self.ticks += 1
        if self.act is not None:
            self.act(self)


class Recorder(Metrics):
    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def turn(self, *arguments: Any) -> None:
        self.calls.append(("turn", *arguments))

    def waited(self, *arguments: Any) -> None:
        self.calls.append(("waited", *arguments))

    def enqueued(self, *arguments: Any) -> None:
        self.calls.append(("enqueued", *arguments))

    def dequeued(self, *arguments: Any) -> None:
        self.calls.append(("dequeued", *arguments))

    def parked(self, *arguments: Any) -> None:
        self.calls.append(("parked", *arguments))

    def resumed(self, *arguments: Any) -> None:
        self.calls.append(("resumed", *arguments))

    def failed(self, *arguments: Any) -> None:
        self.calls.append(("failed", *arguments))

    def of(self, name: str) -> list[tuple[Any, ...]]:
        return [call[1:] for call in self.calls if call[0] == name]


def virtual(
    *units: Any,
    clock: VirtualClock | None = None,
    waiter: Waiter | None = None,
    metrics: Metrics | None = None,
    **settings: Any,
) -> Scheduler:
    """A scheduler on a virtual clock with these units registered."""
    config = SchedulerConfig(**settings)
    scheduler = Scheduler(config, clock=clock or VirtualClock(), waiter=waiter, metrics=metrics)
    for unit in units:
        scheduler.register(unit)
    return scheduler


def spin(scheduler: Scheduler, name: str, priority: int = 0) -> None:
    """The edge over which a Spinner keeps itself ready."""
    scheduler.connect(f"{name}:spin", f"{name}:spin", capacity=1, policy=DROP, priority=priority)


def feed(scheduler: Scheduler, name: str) -> None:
    """The edge over which a Source wakes itself."""
    scheduler.connect(f"{name}:next", f"{name}:next", capacity=1, policy=DROP)


def drive(scheduler: Scheduler, turns: int = 10_000) -> int:
    """Takes turns until nothing is ready, or for so many; returns how many it were."""
    for done in range(turns):
        if scheduler.step() != 0.0:
            return done
    return turns


def live(scheduler: Scheduler, clock: VirtualClock, seconds: float) -> None:
    """Lets so much time go by, doing whatever comes up on the way."""
    end = clock.monotonic() + seconds
    while (pause := scheduler.step()) is not None:
        left = end - clock.monotonic()
        if pause and left <= 1e-9:
            return
        clock.advance(min(pause, left))

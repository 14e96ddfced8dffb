"""The public face: registration, running, and everything that other threads may do."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from marie_celery.clock import Clock, SystemClock
from marie_celery.flow.bands import check_priority, weights_of
from marie_celery.flow.config import SchedulerConfig
from marie_celery.flow.edge import DEFAULT_CAPACITY, EdgeFactory, check_capacity
from marie_celery.flow.engine import Engine
from marie_celery.flow.errors import AlreadyStarted, GraphError, UnknownEdge, UnknownPort
from marie_celery.flow.memory import MemoryEdge
from marie_celery.flow.message import Message
from marie_celery.flow.metrics import Metrics
from marie_celery.flow.node import Node
from marie_celery.flow.plan import examine, make_plan
from marie_celery.flow.policy import BLOCK, Policy, PutResult
from marie_celery.flow.problems import Code, Problem
from marie_celery.flow.snapshot import snapshot
from marie_celery.flow.state import Link
from marie_celery.flow.stats import Report, Stats
from marie_celery.flow.subgraph import Subgraph
from marie_celery.flow.survey import inlet
from marie_celery.flow.waiter import ClockWaiter, ThreadWaiter, Waiter
from marie_celery.flow.wiring import wire

ASYNC_SLICE_TURNS = 32
ASYNC_SLICE_S = 0.005
"""After so many turns or seconds `run_async` lets the other coroutines run."""


class Scheduler:
    """Runs a graph of nodes in one thread. It runs once.

    `shutdown`, `inject`, `set_priority`, `set_capacity` and `stats` may be called from any thread and inside
    callbacks; `shutdown` also from a signal handler.
    """

    def __init__(
        self,
        config: SchedulerConfig | None = None,
        *,
        clock: Clock | None = None,
        waiter: Waiter | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self._config = config or SchedulerConfig()
        self._clock = clock or SystemClock()
        if waiter is None:
            waiter = ThreadWaiter() if isinstance(self._clock, SystemClock) else ClockWaiter(self._clock)
        self._waiter = waiter
        self._metrics = metrics
        self._graph = Subgraph("")
        self._capacities: dict[str, int] = {}
        self._priorities: dict[str, int] = {}
        self._lock = threading.RLock()
        self._engine: Engine | None = None
        self._has_started = False
        self._is_shut_down = False

    def register(self, unit: Node | Subgraph) -> None:
        """Adds a node or a subgraph; what is wrong with it in itself is refused at once."""
        with self._lock:
            self._must_be_open("register")
            alone = Subgraph("")
            alone.add(unit)
            problems = examine(alone)[0].problems
            if any(unit.name == other.name for other in self._graph.units):
                text = "another registered unit has this name"
                problems.append(Problem(Code.DUPLICATE_NAME, unit.name, text))
            if problems:
                raise GraphError(problems)
            self._graph.add(unit)

    def connect(
        self,
        source: str,
        target: str,
        *,
        capacity: int = DEFAULT_CAPACITY,
        policy: Policy = BLOCK,
        priority: int = 0,
        edge: EdgeFactory = MemoryEdge,
        remote: bool = False,
    ) -> None:
        """Joins ports of registered units, as `Subgraph.connect` does; they may be registered later."""
        with self._lock:
            self._must_be_open("connect")
            self._graph.connect(
                source, target, capacity=capacity, policy=policy, priority=priority, edge=edge, remote=remote
            )

    def inlet(
        self, target: str, *, capacity: int = DEFAULT_CAPACITY, policy: Policy = BLOCK, priority: int = 0
    ) -> None:
        """Declares how `inject` reaches an input. Inputs without a declaration have the defaults."""
        with self._lock:
            self._must_be_open("declare an inlet")
            self._graph.attach(inlet(target, capacity, policy, priority))

    def validate(self) -> list[Problem]:
        """Everything that would keep this graph from running."""
        return examine(self._graph)[0].problems

    def run(self) -> Report:
        """Runs until `shutdown`, or until a node with the error policy `stop` fails."""
        self.start()
        try:
            while (pause := self.step()) is not None:
                if pause:
                    self._wait(pause)
        except BaseException:
            self._built().finish()
            raise
        return self.finish()

    async def run_async(self) -> Report:
        """The same inside an event loop. Callbacks run on it, waiting does not block it.

        Cancelling it stops the nodes without a drain.
        """
        self.start()
        engine = self._built()
        slice_began, turns = self._clock.monotonic(), 0
        try:
            while (pause := self.step()) is not None:
                turns += 1
                if pause:
                    began = self._clock.monotonic()
                    something_happened = await asyncio.to_thread(engine.wait, pause)
                    engine.waited(self._clock.monotonic() - began, something_happened)
                elif turns < ASYNC_SLICE_TURNS and self._clock.monotonic() - slice_began < ASYNC_SLICE_S:
                    continue
                else:
                    await asyncio.sleep(0)
                slice_began, turns = self._clock.monotonic(), 0
        except BaseException:
            # A cancelled wait goes on in its thread; the event loop would wait for it when it closes.
            self._waiter.wake()
            engine.finish()
            raise
        return self.finish()

    def start(self) -> None:
        """Starts the nodes. For those who drive the loop themselves, with `step` and `finish`."""
        with self._lock:
            if self._has_started:
                raise AlreadyStarted("run")
            engine = self._built()
            self._has_started = True
        try:
            engine.start()
        except BaseException:
            engine.finish()
            raise

    def step(self) -> float | None:
        """One turn: 0.0. Nothing was ready: the seconds that may be waited. All over: None."""
        return self._built().step()

    def finish(self) -> Report:
        """Stops the nodes; raises NodeFailed if that is why it ended."""
        engine = self._built()
        report = engine.finish()
        if engine.failure is not None:
            engine.failure.report = report
            raise engine.failure
        return report

    def shutdown(self) -> None:
        """Asks the run to end: no more input from outside, drain, stop. Returns at once."""
        # No lock: a signal handler may interrupt the very thread that holds it.
        self._is_shut_down = True
        if self._engine is not None:
            self._engine.request_stop()

    def inject(self, node: str, port: str, payload: Any) -> PutResult:
        """Hands a payload (or a ready-made Message) to an input, as the inlet's capacity and policy allow.

        BLOCKED means that it was not taken; the caller still has it.
        """
        message = payload if isinstance(payload, Message) else Message(payload)
        link = self._built().wiring.gates.get((node, port))
        if link is None:
            raise UnknownPort(node, port)
        if link.contract is not None:
            link.contract.check(message)
        return link.edge.put(message)

    def set_priority(self, edge_id: str, priority: int) -> None:
        """Holds from the next turn on."""
        check_priority(edge_id, priority)
        link = self._link(edge_id, self._priorities, priority)
        if link is not None:
            link.priority = priority
            self._built().notice(link)

    def set_capacity(self, edge_id: str, capacity: int) -> None:
        """Discards nothing. More room resumes a blocked producer."""
        check_capacity(edge_id, capacity)
        link = self._link(edge_id, self._capacities, capacity)
        if link is not None:
            link.edge.set_capacity(capacity)
            self._built().notice(link)

    def stats(self) -> Stats:
        return Stats() if self._engine is None else snapshot(self._engine)

    def _must_be_open(self, attempt: str) -> None:
        if self._engine is not None:
            raise AlreadyStarted(attempt)

    def _built(self) -> Engine:
        """The first run, step or inject closes the registration and makes the graph real."""
        if self._engine is None:
            with self._lock:
                if self._engine is None:
                    plan = make_plan(self._graph)
                    weights = weights_of(self._config.fairness_ratio)
                    wiring = wire(plan, weights, self._capacities, self._priorities)
                    self._engine = Engine(wiring, self._config, self._clock, self._waiter, self._metrics)
            # After the engine became visible: either shutdown saw it, or its request is seen here.
            if self._is_shut_down:
                self._engine.request_stop()
        return self._engine

    def _link(self, edge_id: str, settings: dict[str, int], value: int) -> Link | None:
        """The running link; before there is one, the value is kept for it."""
        with self._lock:
            if self._engine is not None:
                link = self._engine.wiring.links.get(edge_id)
                if link is None:
                    raise UnknownEdge(edge_id)
                return link
            if edge_id not in examine(self._graph)[0].edges:
                raise UnknownEdge(edge_id)
            settings[edge_id] = value
            return None

    def _wait(self, seconds: float) -> None:
        engine = self._built()
        began = self._clock.monotonic()
        something_happened = engine.wait(seconds)
        engine.waited(self._clock.monotonic() - began, something_happened)

from __future__ import annotations

from typing import Any

import pytest

from marie_celery.clock import VirtualClock
from marie_celery.flow import (
    ERRORS_PORT,
    SKIP,
    STOP,
    ErrorPolicy,
    Failure,
    Kind,
    Message,
    Node,
    NodeFailed,
    Port,
    retry,
)
from tests.unit.flow.flow_kit import Recorder, Sink, Ticker, drive, live, virtual


class Picky(Node):
    """Fails on what it does not like; how often before it gives in is up to the test."""

    inputs = (Port("in"),)
    outputs = (Port("out"), Port(ERRORS_PORT))

    def __init__(self, name: str, bad: Any = "bad", times: int = 1_000, **options: Any) -> None:
        super().__init__(name, **options)
        self.bad = bad
        self.times = times
        self.calls = 0
        self.got: list[Any] = []

    def on_message(self, port: str, message: Message) -> None:
        self.calls += 1
        self.emit("out", message.payload)
        if message.payload == self.bad and self.times:
            self.times -= 1
            raise ValueError(f"no {message.payload}")
        self.got.append(message.payload)


def run_through(picky: Picky, *payloads: Any, clock: VirtualClock | None = None) -> tuple[Recorder, Sink]:
    recorder, out = Recorder(), Sink("out")
    scheduler = virtual(picky, out, clock=clock, metrics=recorder)
    scheduler.connect(f"{picky.name}:out", "out:in")
    scheduler.connect(f"{picky.name}:{ERRORS_PORT}", "out:control")
    scheduler.start()
    for payload in payloads:
        scheduler.inject(picky.name, "in", payload)
    drive(scheduler)
    return recorder, out


def test_a_message_that_cannot_be_handled_is_skipped_reported_and_sent_to_the_errors_port() -> None:
    picky = Picky("picky")
    recorder, out = run_through(picky, 1, "bad", 2)
    assert picky.got == [1, 2]
    *_, failure = sorted(out.got, key=lambda payload: isinstance(payload, Failure))
    assert [payload for payload in out.got if payload is not failure] == [1, 2]
    assert (failure.node, failure.port, failure.message.payload) == ("picky", "in", "bad")
    assert str(failure.error) == "no bad"
    assert [(where, hook) for where, hook, _ in recorder.of("failed")] == [("picky", "on_message")]


def test_an_error_message_keeps_trace_and_headers_of_what_failed() -> None:
    class Keeper(Sink):
        def on_message(self, port: str, message: Message) -> None:
            self.got.append(message)

    keeper = Keeper("keeper")
    scheduler = virtual(Picky("picky"), keeper)
    scheduler.connect(f"picky:{ERRORS_PORT}", "keeper:in")
    cause = Message("bad", headers={"tenant": "a"})
    scheduler.inject("picky", "in", cause)
    scheduler.start()
    drive(scheduler)
    [error] = keeper.got
    assert (error.kind, error.trace_id, error.headers) == (Kind.ERROR, cause.trace_id, cause.headers)


def test_without_an_errors_port_the_message_is_counted_and_gone() -> None:
    picky = Picky("picky", outputs=[Port("out")])
    scheduler = virtual(picky)
    scheduler.start()
    for payload in ("bad", 1):
        scheduler.inject("picky", "in", payload)
    drive(scheduler)
    stats = scheduler.stats()
    assert picky.got == [1]
    assert (stats.errors, stats.nodes["picky"].errors, stats.nodes["picky"].skipped) == (1, 1, 1)


@pytest.mark.parametrize("delay_ms", [0, 500])
def test_a_retry_that_succeeds_delivers_once_and_in_order(delay_ms: float) -> None:
    clock = VirtualClock()
    picky, out = Picky("picky", times=2, error_policy=retry(3, delay_ms=delay_ms)), Sink("out")
    scheduler = virtual(picky, out, clock=clock)
    scheduler.connect("picky:out", "out:in")
    scheduler.start()
    for payload in (1, "bad", 2):
        scheduler.inject("picky", "in", payload)
    live(scheduler, clock, 0.999)
    assert out.got == ([1] if delay_ms else [1, "bad", 2])
    live(scheduler, clock, 0.001)
    assert out.got == [1, "bad", 2]
    assert (picky.calls, scheduler.stats().nodes["picky"].errors) == (5, 2)


def test_a_retry_that_never_succeeds_ends_in_a_skip() -> None:
    picky = Picky("picky", error_policy=retry(2))
    recorder, _ = run_through(picky, "bad", 1)
    assert (picky.calls, len(recorder.of("failed")), picky.got) == (4, 3, [1])


@pytest.mark.parametrize("policy", [STOP, retry(1, then="stop")])
def test_a_stop_policy_ends_the_run_with_the_cause_and_what_was_left(policy: ErrorPolicy) -> None:
    stopped: list[str] = []

    class Stopping(Picky):
        def on_stop(self) -> None:
            stopped.append(self.name)

    scheduler = virtual(Stopping("a", error_policy=policy), Stopping("b"))
    for payload in ("bad", 1, 2):
        scheduler.inject("a", "in", payload)
    with pytest.raises(NodeFailed, match="node 'a' failed in on_message") as caught:
        scheduler.run()
    assert isinstance(caught.value.__cause__, ValueError)
    assert sorted(stopped) == ["a", "b"]
    assert caught.value.report is not None
    assert caught.value.report.left_in_edges == {"outside:in->a:in": 2}
    assert caught.value.report.left_in_nodes == {"a": 1}


class Clumsy(Node):
    outputs = (Port("out"),)
    tick_interval_ms = 10

    def __init__(self, hook: str, log: list[str], **options: Any) -> None:
        super().__init__("clumsy", **options)
        self.hook = hook
        self.log = log

    def _enter(self, hook: str) -> None:
        self.log.append(hook)
        if hook != "on_stop":
            self.emit("out", hook)
        if hook == self.hook:
            raise RuntimeError(hook)

    def on_start(self) -> None:
        self._enter("on_start")

    def on_tick(self) -> None:
        self._enter("on_tick")

    def on_stop(self) -> None:
        self._enter("on_stop")


@pytest.mark.parametrize("hook", ["on_start", "on_tick", "on_stop"])
@pytest.mark.parametrize("policy", [SKIP, retry(3)], ids=["skip", "retry"])
def test_the_other_callbacks_may_fail_too_and_the_run_goes_on(hook: str, policy: ErrorPolicy) -> None:
    log: list[str] = []
    sink, recorder = Sink("sink"), Recorder()
    stop = Ticker("stop", lambda _: scheduler.shutdown(), tick_interval_ms=35)
    scheduler = virtual(Clumsy(hook, log, error_policy=policy), sink, stop, metrics=recorder)
    scheduler.connect("clumsy:out", "sink:in")
    scheduler.run()
    assert log == ["on_start", "on_tick", "on_tick", "on_tick", "on_stop"]
    assert sink.got == [name for name in log if name not in (hook, "on_stop")]
    assert {(where, failed) for where, failed, _ in recorder.of("failed")} == {("clumsy", hook)}


@pytest.mark.parametrize("hook", ["on_start", "on_tick", "on_stop"])
def test_with_a_stop_policy_a_failure_in_any_callback_ends_the_run(hook: str) -> None:
    log: list[str] = []
    other = Ticker("other")
    scheduler = virtual(Clumsy(hook, log, error_policy=STOP), other)
    if hook == "on_stop":
        scheduler.shutdown()
    with pytest.raises(NodeFailed) as caught:
        scheduler.run()
    assert (caught.value.hook, log[-1]) == (hook, "on_stop")


def test_nodes_that_were_not_started_are_not_stopped() -> None:
    log: list[str] = []

    class Later(Sink):
        def on_start(self) -> None:
            log.append("later starts")

        def on_stop(self) -> None:
            log.append("later stops")

    scheduler = virtual(Clumsy("on_start", log, error_policy=STOP), Later("later"))
    scheduler.connect("clumsy:out", "later:in")
    with pytest.raises(NodeFailed):
        scheduler.run()
    assert log == ["on_start", "on_stop"]


@pytest.mark.parametrize(("retries", "delay"), [(0, 0), (1, -1)])
def test_a_retry_policy_has_to_make_sense(retries: int, delay: float) -> None:
    with pytest.raises(ValueError, match="retries must be at least 1"):
        retry(retries, delay_ms=delay)


def test_what_ends_a_process_is_not_an_error_of_a_node_but_still_stops_the_others() -> None:
    log: list[str] = []

    class Interrupted(Sink):
        def on_message(self, port: str, message: Message) -> None:
            raise KeyboardInterrupt

        def on_stop(self) -> None:
            log.append("stopped")

    scheduler = virtual(Interrupted("sink", error_policy=retry(5)))
    scheduler.inject("sink", "in", 1)
    with pytest.raises(KeyboardInterrupt):
        scheduler.run()
    assert log == ["stopped"]


def test_an_interrupted_start_stops_what_was_started() -> None:
    log: list[str] = []

    class First(Sink):
        def on_stop(self) -> None:
            log.append("stopped")

    class Second(Sink):
        def on_start(self) -> None:
            raise KeyboardInterrupt

    scheduler = virtual(First("first"), Second("second"))
    with pytest.raises(KeyboardInterrupt):
        scheduler.run()
    assert log == ["stopped"]


def test_a_node_is_shown_by_its_class_and_name() -> None:
    assert repr(Picky("picky")) == "<Picky picky>"

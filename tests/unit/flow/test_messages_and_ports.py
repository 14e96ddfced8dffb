from __future__ import annotations

import dataclasses

import pytest

from marie_celery.flow import Kind, Lane, Message, Node, Port, PortTypeError
from tests.unit.flow.flow_kit import Burst, Recorder, Relay, Sink, drive, virtual


def test_a_message_cannot_be_changed_by_one_of_its_consumers() -> None:
    headers = {"tenant": "a"}
    message = Message([1], headers=headers)
    headers["tenant"] = "b"
    with pytest.raises(dataclasses.FrozenInstanceError):
        message.kind = Kind.CONTROL  # type: ignore[misc]
    with pytest.raises(TypeError):
        message.headers["tenant"] = "c"  # type: ignore[index]
    assert message.headers == {"tenant": "a"}


def test_every_message_without_a_trace_starts_one() -> None:
    first, second = Message(1), Message(1)
    assert first.trace_id != second.trace_id
    assert len(bytes.fromhex(first.trace_id)) == 16


def test_a_derived_message_differs_in_its_payload_alone() -> None:
    message = Message(1, Kind.ERROR, {"tenant": "a"}, "trace")
    assert message.derive(2) == Message(2, Kind.ERROR, {"tenant": "a"}, "trace")


@pytest.mark.parametrize(
    ("kind", "lane"), [(Kind.DATA, Lane.DATA), (Kind.ERROR, Lane.DATA), (Kind.CONTROL, Lane.CONTROL)]
)
def test_only_control_messages_use_the_control_lane(kind: Kind, lane: Lane) -> None:
    assert Message(1, kind).lane is lane


def test_what_a_callback_emits_carries_the_trace_of_what_it_handles() -> None:
    class Keeper(Sink):
        def on_message(self, port: str, message: Message) -> None:
            self.got.append(message)

    keeper = Keeper("keeper")
    scheduler = virtual(Burst("burst", ["made here"]), keeper)
    scheduler.connect("burst:out", "keeper:in")
    cause = Message("go")
    scheduler.inject("burst", "go", cause)
    scheduler.start()
    drive(scheduler)
    assert [(message.payload, message.trace_id) for message in keeper.got] == [("made here", cause.trace_id)]


def test_a_port_checks_data_and_lets_control_and_errors_pass() -> None:
    port = Port("in", int | str)
    port.check(Message(1))
    port.check(Message("one"))
    port.check(Message([], Kind.CONTROL))
    port.check(Message([], Kind.ERROR))
    with pytest.raises(PortTypeError, match=r"port 'in' carries int \| str, not list") as caught:
        port.check(Message([]))
    assert (caught.value.port, caught.value.expected, caught.value.actual) == ("in", "int | str", "list")


@pytest.mark.parametrize("contract", [list[int], "int", int | list[str], None])
def test_a_contract_that_cannot_be_checked_is_refused(contract: object) -> None:
    with pytest.raises(TypeError, match="port 'in'"):
        Port("in", contract)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sends", "takes", "fits"),
    [
        (int, int, True),
        (bool, int, True),
        (int, bool, False),
        (int, int | str, True),
        (int | str, int, False),
        (int | bool, int, True),
        (int, object, True),
        (object, int, False),
    ],
)
def test_a_port_fits_another_that_takes_all_it_may_send(sends: type, takes: type, fits: bool) -> None:
    assert Port("a", sends).fits(Port("b", takes)) is fits


class Typed(Node):
    inputs = (Port("go"),)
    outputs = (Port("numbers", int), Port("anything"))

    def on_message(self, port: str, message: Message) -> None:
        where, what = message.payload
        self.emit(where, what)


@pytest.mark.parametrize("output", ["numbers", "anything"])
def test_a_payload_that_breaks_a_contract_is_an_error_of_the_node_that_emitted_it(output: str) -> None:
    sink = Sink("sink", inputs=[Port("in", int)])
    recorder = Recorder()
    scheduler = virtual(Typed("typed"), sink, metrics=recorder)
    scheduler.connect(f"typed:{output}", "sink:in")
    scheduler.start()
    for payload in ((output, 1), (output, "two"), (output, 3)):
        scheduler.inject("typed", "go", payload)
    drive(scheduler)
    assert sink.got == [1, 3]
    [(where, hook, error)] = recorder.of("failed")
    assert (where, hook, type(error)) == ("typed", "on_message", PortTypeError)


def test_an_undeclared_port_is_an_error_and_an_unconnected_one_is_not() -> None:
    recorder = Recorder()
    scheduler = virtual(Typed("typed"), metrics=recorder)
    scheduler.start()
    scheduler.inject("typed", "go", ("numbers", 1))
    scheduler.inject("typed", "go", ("nowhere", 1))
    drive(scheduler)
    [(_, _, error)] = recorder.of("failed")
    assert isinstance(error, LookupError)
    assert "typed:nowhere" in str(error)


def test_one_port_may_feed_several_consumers_with_the_same_message() -> None:
    sinks = [Sink("a"), Sink("b")]
    scheduler = virtual(Relay("relay"), *sinks)
    for sink in sinks:
        scheduler.connect("relay:out", f"{sink.name}:in", capacity=1)
    scheduler.start()
    for number in range(5):
        scheduler.inject("relay", "in", number)
    drive(scheduler)
    assert [sink.got for sink in sinks] == [[0, 1, 2, 3, 4]] * 2

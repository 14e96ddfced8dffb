from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence

import pytest

from marie_celery.alerts import Alert, on_alert
from marie_celery.alerts.callbacks import CALLBACKS
from marie_celery.alerts.courier import Courier

ALERT = Alert("sla.hard_missed", "0123456789abc", 1)


class Office:
    """A courier, and what became of its alerts."""

    def __init__(
        self,
        *receivers: Callable[[Alert], object],
        describe: Callable[[Alert], Alert] = lambda alert: alert,
        pauses: Sequence[float] = (0.0, 0.0),
        in_hand: int = 5,
    ) -> None:
        self.settled: list[bool] = []
        self._one_more = threading.Semaphore(0)
        self.courier = Courier(receivers, describe, self._settle, pauses=pauses, in_hand=in_hand)
        self.courier.start()

    def _settle(self, alert: Alert, sent: bool) -> None:
        self.settled.append(sent)
        self._one_more.release()

    def deliver(self, alert: Alert = ALERT) -> bool:
        self.courier.take(alert)
        assert self._one_more.acquire(timeout=20)
        return self.settled[-1]


@pytest.fixture
def offices() -> Iterator[Callable[..., Office]]:
    made: list[Office] = []

    def make(*receivers: Callable[[Alert], object], **options: object) -> Office:
        made.append(Office(*receivers, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for office in made:
        office.courier.stop()


def failing(times: int, calls: list[Alert]) -> Callable[[Alert], None]:
    def receiver(alert: Alert) -> None:
        calls.append(alert)
        if len(calls) <= times:
            raise RuntimeError("not now")

    return receiver


def test_every_receiver_is_told(offices: Callable[..., Office]) -> None:
    told: list[str] = []
    assert offices(lambda _: told.append("one"), lambda _: told.append("two")).deliver()
    assert told == ["one", "two"]


def test_one_that_fails_is_tried_again_alone(offices: Callable[..., Office]) -> None:
    first: list[Alert] = []
    second: list[Alert] = []
    assert offices(failing(0, first), failing(2, second)).deliver()
    assert (len(first), len(second)) == (1, 3)


def test_after_three_tries_the_alert_is_lost_and_the_log_says_to_whom(
    offices: Callable[..., Office], caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[Alert] = []
    with caplog.at_level(logging.ERROR):
        assert not offices(failing(9, calls)).deliver()
    assert len(calls) == 3
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "has missed its hard SLA: could not be told to failing.<locals>.receiver" in record.message


def test_what_is_known_of_the_run_is_asked_for_again_if_redis_was_away(offices: Callable[..., Office]) -> None:
    asked: list[Alert] = []
    told: list[Alert] = []

    def describe(alert: Alert) -> Alert:
        asked.append(alert)
        if len(asked) == 1:
            raise ConnectionError("away")
        return Alert(alert.kind, alert.run, alert.at, dag="invoice")

    assert offices(told.append, describe=describe).deliver()
    assert [alert.dag for alert in told] == ["invoice"]


def test_a_receiver_that_hangs_takes_up_one_place_and_not_the_others(offices: Callable[..., Office]) -> None:
    over = threading.Event()
    hanging = Alert("sla.soft_missed", "hanging", 1)
    office = offices(lambda alert: alert is hanging and over.wait(20))
    office.courier.take(hanging)
    assert office.deliver()
    assert office.courier.room == 4
    over.set()


def test_there_is_room_for_so_many_and_no_more(offices: Callable[..., Office]) -> None:
    over = threading.Event()
    office = offices(lambda _: over.wait(20), in_hand=3)
    for number in range(3):
        office.courier.take(Alert("sla.soft_missed", str(number), 1))
    assert office.courier.room == 0
    over.set()


def test_what_could_not_be_told_before_the_end_is_handed_back(offices: Callable[..., Office]) -> None:
    began = threading.Event()

    def receiver(alert: Alert) -> None:
        began.set()
        raise RuntimeError("not now")

    office = offices(receiver, pauses=(600.0,))
    office.courier.take(ALERT)
    assert began.wait(20)
    assert office.courier.stop() == [ALERT]
    assert office.settled == []


def test_a_function_is_registered_once_and_stays_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marie_celery.alerts.callbacks.CALLBACKS", list(CALLBACKS))

    @on_alert
    def page(alert: Alert) -> str:
        return alert.run

    on_alert(page)
    from marie_celery.alerts import callbacks

    assert callbacks.CALLBACKS.count(page) == 1
    assert page(ALERT) == ALERT.run


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"kind": "k", "run": "r", "at": "soon"}'])
def test_what_is_no_alert_is_said_to_be_none(text: str) -> None:
    with pytest.raises(ValueError):
        Alert.parse(text)

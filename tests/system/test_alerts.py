"""From a missed SLA in a real Redis to those who are told."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from waiting import eventually

from marie_celery.alerts import Alert, on_alert
from marie_celery.alerts.callbacks import CALLBACKS
from marie_celery.alerts.webhook import Webhook
from marie_celery.clock import SystemClock
from marie_celery.config import Settings
from marie_celery.embedded import EmbeddedServer
from marie_celery.errors import ConfigError
from marie_celery.flow import LATEST, Scheduler
from marie_celery.scheduler.agenda import Agenda
from marie_celery.scheduler.alerter import Alerter, alerter
from marie_celery.store.store import Store
from tests.redis.redis_runs import NOW, job, new_run
from tests.unit.alerts.receiver import Receiver

SOFT, HARD = NOW + 1_000, NOW + 2_000


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer() as running:
        yield running


@pytest.fixture
def store(server: EmbeddedServer) -> Iterator[Store]:
    with redis.Redis.from_url(server.url, decode_responses=True) as client:
        client.flushall()
        yield Store(client, Settings(), now_ms=NOW)


@pytest.fixture
def told() -> Iterator[list[Alert]]:
    """What a function of the user's code was told."""
    before = list(CALLBACKS)
    found: list[Alert] = []
    on_alert(found.append)
    yield found
    CALLBACKS[:] = before


class Running:
    """An alerter in a graph of its own, on the real clock."""

    def __init__(self, node: Alerter) -> None:
        self.graph = Scheduler()
        self.graph.register(Agenda(["alerter"], SystemClock()))
        self.graph.register(node)
        self.graph.connect("agenda:alerter", "alerter:due", capacity=1, policy=LATEST)
        self.graph.connect("alerter:turn", "agenda:turns")
        self.graph.inlet("agenda:wake", capacity=1, policy=LATEST)
        self._thread = threading.Thread(target=self.graph.run)

    def __enter__(self) -> Running:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.graph.shutdown()
        self._thread.join()


def miss(store: Store, **fields: Any) -> str:
    """A run that misses both of its SLAs."""
    store.now_ms = NOW
    run = store.submit(new_run([job()], soft=SOFT, hard=HARD, **fields))
    for moment in (SOFT + 1, HARD + 1):
        store.now_ms = moment
        store.watch()
    return run


def counters(store: Store) -> dict[str, int]:
    found = store.client.hgetall(store.keys.counters)
    return {name: int(number) for name, number in found.items() if name.startswith("alerts")}


def test_missed_slas_are_told_to_functions_and_to_the_webhook(store: Store, told: list[Alert]) -> None:
    run = miss(store, labels=json.dumps({"team": "billing"}), key="scan-17")
    with Receiver() as receiver, Running(Alerter(store, Webhook(receiver.url(), allow_private=True))):
        receiver.wait(2)
        eventually(lambda: counters(store) == {"alertsSent": 2})
    expected = {
        "run": run,
        "dag": "d",
        "state": "created",
        "priority": 50,
        "soft_sla": SOFT,
        "hard_sla": HARD,
        "key": "scan-17",
        "labels": {"team": "billing"},
    }
    bodies = sorted((body for _, _, body in receiver.posts), key=lambda body: body["at"])
    assert [(body["kind"], body["at"]) for body in bodies] == [
        ("sla.soft_missed", SOFT + 1),
        ("sla.hard_missed", HARD + 1),
    ]
    for body in bodies:
        assert expected.items() <= body.items()
    assert sorted(alert.kind for alert in told) == ["sla.hard_missed", "sla.soft_missed"]
    assert {(alert.dag, alert.labels["team"]) for alert in told} == {("d", "billing")}
    assert store.client.llen(store.keys.alerts) == 0


def test_a_receiver_that_recovers_in_time_loses_nothing(store: Store) -> None:
    miss(store)
    with Receiver(500, 503, 500, 200) as receiver:
        hook = Webhook(receiver.url(), allow_private=True)
        with Running(Alerter(store, hook, pauses=(0.01, 0.01))):
            eventually(lambda: counters(store) == {"alertsSent": 2})
    assert len(receiver.posts) == 5


def test_what_nobody_takes_is_counted_and_logged(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    miss(store)
    with Receiver(500) as receiver:
        hook = Webhook(receiver.url(), allow_private=True)
        with Running(Alerter(store, hook, pauses=(0.01, 0.01))):
            eventually(lambda: counters(store) == {"alertsLost": 2})
    assert len(receiver.posts) == 6
    lost = [record.message for record in caplog.records if record.levelno == logging.ERROR]
    assert len(lost) == 2
    assert all("could not be told to webhook http://127.0.0.1:" in message for message in lost)
    assert "secret" not in caplog.text


def test_without_anybody_to_tell_the_log_tells(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    run = miss(store)
    with Running(Alerter(store)):
        eventually(lambda: store.client.llen(store.keys.alerts) == 0)
    told = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert told == [f"run {run} has missed its soft SLA", f"run {run} has missed its hard SLA"]
    assert counters(store) == {}


def test_a_run_that_is_gone_is_told_of_all_the_same(store: Store, told: list[Alert]) -> None:
    run = miss(store)
    store.client.delete(store.keys.run(run))
    with Running(Alerter(store)):
        eventually(lambda: len(told) == 2)
    assert {(alert.run, alert.state) for alert in told} == {(run, "unknown")}


def test_what_is_no_alert_is_lost_and_stops_nothing(store: Store, told: list[Alert]) -> None:
    store.client.rpush(store.keys.alerts, "nonsense")
    miss(store)
    with Running(Alerter(store)):
        eventually(lambda: counters(store) == {"alertsSent": 2, "alertsLost": 1})


def test_a_receiver_that_hangs_does_not_hold_the_graph_up(store: Store) -> None:
    over, began = threading.Event(), threading.Event()

    def hang(alert: Alert) -> None:
        began.set()
        over.wait(20)

    on_alert(hang)
    try:
        miss(store)
        with Running(Alerter(store)) as running:
            assert began.wait(20)
            turns = running.graph.stats().nodes["agenda"].turns
            eventually(lambda: running.graph.stats().nodes["agenda"].turns > turns + 3)
            assert running.graph.stats().longest_turn_s < 1
            over.set()
            eventually(lambda: counters(store) == {"alertsSent": 2})
    finally:
        CALLBACKS.remove(hang)


def test_what_is_in_hand_at_the_end_is_put_back_for_the_next_scheduler(store: Store) -> None:
    miss(store)
    before = [json.loads(text) for text in store.client.lrange(store.keys.alerts, 0, -1)]
    tried = threading.Semaphore(0)

    def fail(alert: Alert) -> None:
        tried.release()
        raise RuntimeError("not now")

    on_alert(fail)
    try:
        with Running(Alerter(store, pauses=(600.0,))):
            for _ in before:
                assert tried.acquire(timeout=20)
    finally:
        CALLBACKS.remove(fail)
    assert [json.loads(text) for text in store.client.lrange(store.keys.alerts, 0, -1)] == before
    assert counters(store) == {}


def test_two_alerters_tell_each_alert_once(store: Store, told: list[Alert]) -> None:
    for _ in range(30):
        miss(store)
    with Running(Alerter(store)), Running(Alerter(store)):
        eventually(lambda: counters(store) == {"alertsSent": 60})
    assert len({(alert.run, alert.kind) for alert in told}) == len(told) == 60


def test_a_bad_webhook_is_refused_at_the_start(store: Store) -> None:
    with pytest.raises(ConfigError, match=r"alert_webhook leads to 127\.0\.0\.1, which is loopback"):
        alerter(store, "http://127.0.0.1/", allow_private=False)
    assert alerter(store, None, allow_private=False).name == "alerter"
    assert alerter(store, "", allow_private=False).name == "alerter"

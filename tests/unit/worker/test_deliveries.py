"""Messages that a worker has taken: what Redis knows of them, what becomes of them. On channels of kombu's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redis
from celery import Celery
from kombu import Connection, Queue
from kombu.transport.redis import QoS

from marie_celery.embedded import EmbeddedServer
from marie_celery.worker.consumer import SteadfastConsumer
from marie_celery.worker.deliveries import Deliveries, keep_ours_in_memory
from marie_celery.worker.setup import WORKER_SETTINGS

OURS = "6608a4ffc9a33-000000.1"
PLAIN = "0b7a3c1e-5d1f-4c55-9d29-3a1f3f9a7a10"


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer() as running:
        yield running


@pytest.fixture
def raw(server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[redis.Redis]:
    """The server, empty."""
    # Celery prefers it to the broker that an app names.
    monkeypatch.delenv("CELERY_BROKER_URL", raising=False)
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
        yield client


class Intake:
    """One channel of a worker, and the queue that it takes from."""

    def __init__(self, url: str, **options: Any) -> None:
        self.connection = Connection(url, transport_options=options)
        self.channel = self.connection.channel()
        keep_ours_in_memory(self.channel)
        self.queue = Queue("main", channel=self.channel)
        self.queue.declare()

    def send(self, *ids: Any) -> None:
        with self.connection.Producer() as producer:
            for number in ids:
                producer.publish([[], {}, {}], routing_key="main", headers={"id": number, "task": "work"})

    def take(self) -> Any:
        return self.queue.get()

    def receive(self, number: Any) -> Any:
        self.send(number)
        return self.take()


@pytest.fixture
def intake(server: EmbeddedServer, raw: redis.Redis) -> Iterator[Intake]:
    made = Intake(server.url)
    yield made
    made.connection.release()


def noted(raw: redis.Redis) -> tuple[Any, Any]:
    return raw.hlen("unacked"), raw.zcard("unacked_index")


def waiting(raw: redis.Redis) -> Any:
    return raw.llen("main")


def test_redis_knows_nothing_of_ours(intake: Intake, raw: redis.Redis) -> None:
    message = intake.receive(OURS)
    assert noted(raw) == (0, 0)
    message.ack()
    assert noted(raw) == (0, 0)
    assert waiting(raw) == 0


def test_taking_and_acknowledging_ours_costs_redis_one_command(intake: Intake, raw: redis.Redis) -> None:
    intake.send(OURS)
    raw.config_resetstat()
    intake.take().ack()
    asked = {name for name in raw.info("commandstats") if not name.endswith(("|resetstat", "_info"))}
    assert asked == {"cmdstat_rpop"}


def test_redis_knows_a_plain_message_until_it_is_acknowledged(intake: Intake, raw: redis.Redis) -> None:
    ours, plain = intake.receive(OURS), intake.receive(PLAIN)
    assert noted(raw) == (1, 1)
    ours.ack()
    assert noted(raw) == (1, 1)
    plain.ack()
    assert noted(raw) == (0, 0)


@pytest.mark.parametrize("number", [None, 7, "", f"{OURS} "])
def test_whatever_else_comes_is_not_ours(intake: Intake, raw: redis.Redis, number: Any) -> None:
    message = intake.receive(number)
    assert noted(raw) == (1, 1)
    message.ack()
    assert noted(raw) == (0, 0)


@pytest.mark.parametrize("number", [OURS, PLAIN])
def test_what_is_refused_is_gone(intake: Intake, raw: redis.Redis, number: str) -> None:
    intake.receive(number).reject()
    intake.connection.close()
    assert noted(raw) == (0, 0)
    assert waiting(raw) == 0


@pytest.mark.parametrize("number", [OURS, PLAIN])
def test_what_is_given_back_comes_again_and_says_so(intake: Intake, raw: redis.Redis, number: str) -> None:
    first = intake.receive(number)
    first.requeue()
    assert noted(raw) == (0, 0)
    second = intake.take()
    assert second.headers["id"] == number
    assert second.delivery_info["redelivered"]
    assert (second.body, second.delivery_tag) == (first.body, first.delivery_tag)
    second.ack()
    assert waiting(raw) == 0


def test_what_a_worker_still_has_when_it_ends_is_there_for_the_next(intake: Intake, raw: redis.Redis) -> None:
    intake.send(OURS, PLAIN, f"{OURS}1")
    for message in (intake.take(), intake.take(), intake.take()):
        if message.headers["id"] == f"{OURS}1":
            message.ack()
    intake.connection.close()
    assert noted(raw) == (0, 0)
    other = Intake(intake.connection.as_uri(include_password=True))
    assert {other.take().headers["id"], other.take().headers["id"]} == {OURS, PLAIN}
    assert other.take() is None, "what was acknowledged is gone"
    other.connection.release()


def test_a_recovery_brings_back_only_what_was_not_acknowledged(intake: Intake, raw: redis.Redis) -> None:
    intake.send(OURS, f"{OURS}1", PLAIN)
    intake.take().ack()
    intake.take()
    intake.take()
    intake.channel.basic_recover(requeue=True)
    assert waiting(raw) == 2
    assert {intake.take().headers["id"], intake.take().headers["id"]} == {f"{OURS}1", PLAIN}


def test_ours_fill_the_prefetch_window_like_any_other(intake: Intake) -> None:
    intake.channel.basic_qos(prefetch_count=2)
    first, _ = intake.receive(OURS), intake.receive(f"{OURS}1")
    assert not intake.channel.qos.can_consume()
    first.ack()
    assert intake.channel.qos.can_consume()


def test_prefixes_of_keys_are_kept(server: EmbeddedServer, raw: redis.Redis) -> None:
    intake = Intake(server.url, global_keyprefix="tenant-7:")
    intake.receive(PLAIN)
    intake.receive(OURS).requeue()
    assert raw.llen("tenant-7:main") == 1
    assert raw.hlen("tenant-7:unacked") == 1
    intake.connection.release()


def worker_of(broker: str, **conf: Any) -> SteadfastConsumer:
    """The part of a worker that takes messages; nothing is started."""
    app = Celery("deliveries", broker=broker, set_as_current=False)
    app.conf.update(conf, broker_connection_retry_on_startup=True, **WORKER_SETTINGS)
    consumer = app.WorkController(pool="solo").consumer
    assert isinstance(consumer, SteadfastConsumer)
    return consumer


def test_a_worker_that_lost_its_connection_goes_on_in_the_same_way(server: EmbeddedServer, raw: redis.Redis) -> None:
    worker = worker_of(server.url)
    channels = []
    for _ in range(2):
        worker.connection = worker.connect()
        channels.append(worker.connection.default_channel)
        raw.client_kill_filter(_type="normal")
        worker.on_connection_error_after_connected(ConnectionError("killed"))
    first, second = channels
    assert first is not second
    assert type(first.qos) is type(second.qos) is Deliveries


def test_a_worker_on_another_broker_is_left_alone() -> None:
    with worker_of("memory://").connect() as connection:
        assert not isinstance(connection.default_channel.qos, QoS)


def test_an_app_that_wants_no_notes_at_all_has_none(server: EmbeddedServer, raw: redis.Redis) -> None:
    with worker_of(server.url, broker_transport_options={"ack_emulation": False}).connect() as connection:
        assert not isinstance(connection.default_channel.qos, QoS)

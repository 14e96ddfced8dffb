"""The short way to Redis: one connection, one thread, and the client where it fails."""

from __future__ import annotations

import os
import threading

import pytest
import redis

from marie_celery.clock import VirtualClock
from marie_celery.config import Settings
from marie_celery.embedded import EmbeddedServer
from marie_celery.store.connection import connect
from marie_celery.store.line import Line
from marie_celery.store.store import Store
from tests.redis.redis_runs import NOW, begin, first_job, give_capacity, job, job_field, new_run

LOOK = 0.0001


@pytest.fixture
def client(server: EmbeddedServer, real_client: redis.Redis) -> redis.Redis:
    real_client.flushall()
    return connect(server.url)


@pytest.mark.parametrize("look_seconds", [0.0, LOOK, 1.0])
def test_it_answers_as_the_client_does(client: redis.Redis, look_seconds: float) -> None:
    line = Line(client, look_seconds)
    assert line.call("SET", "a", "ä") == "OK"
    assert line.call("GET", "a") == client.get("a") == "ä"
    assert line.call("INCRBY", "n", 5) == 5


def test_an_answer_that_does_not_come_at_once_is_waited_for(client: redis.Redis) -> None:
    line = Line(client, LOOK)
    assert line.call("BLPOP", "nothing", 0.05) is None
    assert line.call("PING") == "PONG"


def test_looking_ends_when_its_time_is_over(client: redis.Redis) -> None:
    clock = VirtualClock()
    line = Line(client, 1.0, clock)
    threading.Timer(0.01, lambda: clock.advance(2.0)).start()
    assert line.call("BLPOP", "nothing", 0.05) is None


def test_what_was_interrupted_is_not_taken_for_the_next_answer(
    client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = Line(client, LOOK)
    line.call("SET", "a", "old")

    def interrupted() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(line, "_look", interrupted)
        with pytest.raises(KeyboardInterrupt):
            line.call("GET", "a")
    assert line.call("PING") == "PONG"


def test_it_connects_again_after_the_server_has_hung_up(client: redis.Redis) -> None:
    line = Line(client, LOOK)
    mine = line.call("CLIENT", "ID")
    client.client_kill_filter(_id=mine)
    with pytest.raises(redis.ConnectionError):
        line.call("PING")
    assert line.call("PING") == "PONG"


def test_what_the_look_meets_is_left_to_the_connection(client: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which has its own words for it, or finds nothing wrong."""
    line = Line(client, LOOK)
    line.call("PING")

    def reset(*_: object) -> bytes:
        raise ConnectionResetError

    with monkeypatch.context() as patch:
        patch.setattr(os, "read", reset)
        assert line.call("PING") == "PONG"
        client.client_kill_filter(_id=line.call("CLIENT", "ID"))
        with pytest.raises(redis.ConnectionError):
            line.call("PING")
    assert line.call("PING") == "PONG"


def test_an_answer_in_pieces_is_put_together(client: redis.Redis) -> None:
    line = Line(client, 1.0)
    line.call("SET", "large", "x" * 1_000_000)
    assert line.call("GET", "large") == "x" * 1_000_000


def test_it_belongs_to_the_thread_that_opened_it(client: redis.Redis) -> None:
    line = Line(client, LOOK)
    others = []
    thread = threading.Thread(target=lambda: others.append(line.is_mine))
    thread.start()
    thread.join()
    assert (line.is_mine, others) == (True, [False])


class TestAStoreWithALine:
    @pytest.fixture
    def store(self, client: redis.Redis) -> Store:
        store = Store(client, Settings(), now_ms=NOW)
        store.open_line(LOOK)
        return store

    def test_calls_take_it(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        give_capacity(store)
        store.submit(new_run([job()]))  # the function is loaded

        def refuse(*_: object) -> None:
            raise AssertionError("this was to go over the line")

        monkeypatch.setattr(store.client, "fcall", refuse)
        assert first_job(store)

    def test_what_fails_on_it_is_asked_for_by_the_client(self, store: Store) -> None:
        give_capacity(store)
        name = first_job(store)
        token = begin(store, name)
        store.client.client_kill_filter(_type="normal", skipme=True)
        assert store.finish(name, token, "w1", "1")
        assert job_field(store, name, "state") == "completed"

    def test_functions_that_were_lost_are_loaded_again(self, store: Store) -> None:
        store.client.function_flush()
        assert first_job(store)

"""Scripts that the server keeps as functions: the same text, made once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from marie_celery.config import Settings
from marie_celery.embedded import EmbeddedServer
from marie_celery.store.scripts import FOLDER
from marie_celery.store.store import Store
from tests.redis.conftest import load_functions
from tests.redis.redis_runs import NOW, give_capacity, job, new_run, running


@pytest.fixture
def commands(real_client: redis.Redis) -> Iterator[redis.Redis]:
    real_client.flushall()
    real_client.config_resetstat()
    yield real_client


def calls(client: redis.Redis, command: str) -> int:
    found = client.info("commandstats").get(f"cmdstat_{command}", {"calls": 0})
    return int(found["calls"])


def test_a_server_that_keeps_functions_is_asked_for_them(commands: redis.Redis) -> None:
    store = Store(commands, Settings(), now_ms=NOW)
    name, token, _ = running(store)
    assert store.finish(name, token, "w1", "1")
    assert calls(commands, "fcall") >= 4
    assert calls(commands, "evalsha") == 0


def test_functions_that_were_lost_are_loaded_again(commands: redis.Redis) -> None:
    store = Store(commands, Settings(), now_ms=NOW)
    give_capacity(store)
    commands.function_flush()
    assert store.submit(new_run([job()]))
    assert calls(commands, "evalsha") == 0
    load_functions(commands)


def test_a_user_who_may_not_use_functions_uses_scripts(server: EmbeddedServer, commands: redis.Redis) -> None:
    commands.acl_setuser("plain", enabled=True, nopass=True, keys=["*"], categories=["+@all"], commands=["-fcall"])
    try:
        url = server.url.replace("redis://", "redis://plain:@")
        with redis.Redis.from_url(url, decode_responses=True) as plain:
            store = Store(plain, Settings(), now_ms=NOW)
            assert running(store)
            assert calls(commands, "evalsha") >= 3
    finally:
        commands.acl_deluser("plain")


@pytest.mark.parametrize("path", sorted((FOLDER / "include").glob("*.lua")), ids=lambda path: path.stem)
def test_whatever_a_call_changes_is_made_anew_for_the_next(path: Path) -> None:
    text = path.read_text()
    for line in re.findall(r"^local (?!function).*$", text, re.MULTILINE):
        names = line.removeprefix("local ").removesuffix(" -- @fresh").partition(" = ")[0]
        for name in names.split(", "):
            changes = re.findall(rf"^ +{name}(?:\[.+?\])? = (?!{{|function).*$", text, re.MULTILINE)
            assert line.endswith(" -- @fresh") or not changes, (name, changes)

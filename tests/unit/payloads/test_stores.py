"""One conformance suite over all payload stores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import fakeredis
import pytest

from marie_celery.config import Settings
from marie_celery.errors import ConfigError
from marie_celery.payloads.stores import FolderStore, PayloadStore, RedisStore, store_of
from marie_celery.store.keys import Keys

RUN, OTHER = "0123456789abc", "0123456789abd"
DATA = bytes(range(256))


class Memory:
    """What a user might write."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], bytes] = {}

    def put(self, run: str, name: str, data: bytes) -> None:
        self.kept[run, name] = data

    def get(self, run: str, name: str) -> bytes:
        return self.kept[run, name]

    def forget(self, run: str) -> None:
        self.kept = {key: data for key, data in self.kept.items() if key[0] != run}


memory = Memory()
half = object()


def made(payload_store: str | None) -> PayloadStore | None:
    client = fakeredis.FakeRedis(server=fakeredis.FakeServer(), decode_responses=True)
    return store_of(Settings(payload_store=payload_store), client, Keys("marie"))


@pytest.fixture(params=["redis", "folder", "own"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PayloadStore]:
    named = {"redis": "redis", "folder": str(tmp_path / "deep" / "folder"), "own": f"{__name__}:memory"}
    found = made(named[request.param])
    assert found is not None
    yield found
    found.forget(RUN)
    found.forget(OTHER)


def test_what_was_put_is_got_back(store: PayloadStore) -> None:
    store.put(RUN, "000001.1", DATA)
    store.put(RUN, "000001.1", DATA)
    assert store.get(RUN, "000001.1") == DATA


def test_what_was_not_put_is_not_there(store: PayloadStore) -> None:
    with pytest.raises(LookupError):
        store.get(RUN, "000001.1")


def test_a_run_is_forgotten_with_all_it_has_and_no_other(store: PayloadStore) -> None:
    for run in (RUN, OTHER):
        store.put(run, "000001.1", DATA)
        store.put(run, "000002.1", DATA)
    store.forget(RUN)
    store.forget(RUN)
    with pytest.raises(LookupError):
        store.get(RUN, "000002.1")
    assert store.get(OTHER, "000002.1") == DATA


def test_a_file_that_was_not_finished_is_not_there(tmp_path: Path) -> None:
    (tmp_path / RUN).mkdir()
    (tmp_path / RUN / ".000001.1-77").write_bytes(DATA[:5])
    with pytest.raises(LookupError):
        FolderStore(tmp_path).get(RUN, "000001.1")


def test_without_a_setting_there_is_no_store() -> None:
    assert made(None) is None
    assert isinstance(made("redis"), RedisStore)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("no.such.module:x", "payload_store 'no.such.module:x' cannot be imported"),
        ("json:nothing", "cannot be imported"),
        (f"{__name__}:half", "has no put, get, forget"),
    ],
)
def test_a_store_that_cannot_be_used_is_refused(wanted: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        made(wanted)

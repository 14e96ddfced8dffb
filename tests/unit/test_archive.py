"""Ended runs on their way out: as lines in a folder, or to a function of the user's."""

from __future__ import annotations

import json
from pathlib import Path

import fakeredis
import pytest

from marie_celery.archive import JsonLines, record_of, sink_of
from marie_celery.config import Settings
from marie_celery.errors import ConfigError, UnknownRun
from marie_celery.model.retry import FailureKind
from marie_celery.payloads import Payloads
from marie_celery.scheduler.housekeeping import Pruner
from marie_celery.store.reading import Reader
from marie_celery.store.store import Store
from tests.redis.redis_runs import NOW, WORKER, begin, complete, dag, first_job, give_capacity, job, new_run

DAY = 86_400_000


@pytest.fixture
def store() -> Store:
    client = fakeredis.FakeRedis(server=fakeredis.FakeServer(), decode_responses=True)
    return Store(client, Settings(retention=60), now_ms=NOW)


def reader(store: Store) -> Reader:
    return Reader(store.client, store.keys)


def ended_run(store: Store) -> str:
    give_capacity(store)
    name = first_job(store, new_run([job(inputs='[1]\n{"page": 2}')]))
    complete(store, name)
    return name[:13]


def test_a_record_has_all_that_was_known_of_a_run(store: Store) -> None:
    give_capacity(store)
    first = first_job(store, dag({"a": [], "b": ["a"]}))
    store.fail(first, begin(store, first), WORKER, FailureKind.FAILURE, {"type": "E", "message": "m"}, give_up=True)
    record = json.loads(json.dumps(record_of(reader(store), first[:13], Payloads.of(store)), default=str))
    assert (record["run_id"], record["state"], record["ended_ms"]) == (first[:13], "failed", NOW)
    failed, skipped = record["jobs"]
    assert (failed["state"], failed["error"], failed["inputs"]) == ("failed", {"type": "E", "message": "m"}, "[]\n{}")
    assert (skipped["state"], skipped["reason"], skipped["result"]) == ("skipped", "upstream_failed", None)


def test_results_and_inputs_are_kept_as_they_are(store: Store) -> None:
    (only,) = record_of(reader(store), ended_run(store), Payloads.of(store))["jobs"]
    assert (only["inputs"], only["result"]) == ('[1]\n{"page": 2}', "1")


def test_a_run_that_is_gone_has_no_record(store: Store) -> None:
    with pytest.raises(UnknownRun):
        record_of(reader(store), "0123456789abc", Payloads.of(store))


def test_a_line_goes_to_the_day_on_which_the_run_ended(tmp_path: Path) -> None:
    sink = JsonLines(tmp_path / "runs" / "ended")
    for moment in (NOW, NOW + 1, NOW + DAY):
        sink({"run_id": str(moment), "ended_ms": moment})
    files = sorted((tmp_path / "runs" / "ended").iterdir())
    assert [file.name for file in files] == ["runs-2026-01-01.jsonl", "runs-2026-01-02.jsonl"]
    lines = [json.loads(line) for line in files[0].read_text().splitlines()]
    assert [line["run_id"] for line in lines] == [str(NOW), str(NOW + 1)]


def test_without_the_setting_there_is_no_archive() -> None:
    assert sink_of(None) is None
    assert sink_of("") is None


def test_the_setting_names_a_folder_or_a_function(tmp_path: Path) -> None:
    assert isinstance(sink_of(str(tmp_path)), JsonLines)
    assert sink_of("json:dumps") is json.dumps


@pytest.mark.parametrize("archive", ["nowhere:save", "json:save", "json:decoder"])
def test_a_function_that_there_is_not_is_refused(archive: str) -> None:
    with pytest.raises(ConfigError, match=archive):
        sink_of(archive)


def test_a_run_is_archived_before_it_is_forgotten(store: Store, tmp_path: Path) -> None:
    run = ended_run(store)
    store.now_ms = NOW + 60_000
    assert Pruner(store, JsonLines(tmp_path)).turn().worked
    (file,) = tmp_path.iterdir()
    assert json.loads(file.read_text())["run_id"] == run
    assert not store.client.zcard(store.keys.ended)


def test_a_run_that_cannot_be_archived_is_kept(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    run = ended_run(store)
    store.now_ms = NOW + 60_000

    def full_disk(record: object) -> None:
        raise OSError("no space left")

    assert not Pruner(store, full_disk).turn().worked
    assert store.client.zrange(store.keys.ended, 0, -1) == [run]
    assert f"run {run} could not be archived and is kept" in caplog.text


def test_a_run_is_not_forgotten_before_its_time(store: Store) -> None:
    ended_run(store)
    store.now_ms = NOW + 59_999
    assert not Pruner(store, None).turn().worked
    assert store.client.zcard(store.keys.ended) == 1


def test_a_large_result_is_archived_with_its_run_and_then_deleted(tmp_path: Path) -> None:
    client = fakeredis.FakeRedis(server=fakeredis.FakeServer(), decode_responses=True)
    settings = Settings(retention=60, payload_store="redis", max_result_bytes=50)
    store = Store(client, settings, now_ms=NOW)
    give_capacity(store)
    name = first_job(store)
    token = begin(store, name)
    large = json.dumps(["page"] * 20)
    store.finish(name, token, WORKER, Payloads.of(store).seal(large, f"{name}.{token}"))
    assert store.client.exists(store.keys.payloads(name[:13]))
    store.now_ms = NOW + DAY
    assert Pruner(store, JsonLines(tmp_path)).turn().worked
    (line,) = next(tmp_path.iterdir()).read_text().splitlines()
    assert json.loads(json.loads(line)["jobs"][0]["result"]) == ["page"] * 20
    assert not store.client.exists(store.keys.payloads(name[:13]))

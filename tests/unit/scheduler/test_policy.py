"""Which planner is in force when schedulers come and go."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import fakeredis
import pytest

from marie_celery.config import Settings
from marie_celery.errors import ConfigError
from marie_celery.scheduler.policy import policy_of, put_in_force
from marie_celery.store.store import Store


@pytest.fixture
def store() -> Iterator[Store]:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer(), decode_responses=True) as client:
        yield Store(client, Settings(), now_ms=1_767_268_800_000)


def test_the_first_scheduler_puts_the_planner_of_its_settings_in_force(store: Store) -> None:
    assert put_in_force(store, Settings(planner="slack")) == "slack"
    assert store.policy() == policy_of("slack", Settings(), "settings")


def test_another_planner_in_the_settings_replaces_the_one_of_the_settings(store: Store) -> None:
    put_in_force(store, Settings(planner="slack"))
    assert put_in_force(store, Settings(planner="hrrn")) == "hrrn"
    assert store.policy()["name"] == "hrrn"


def test_the_operators_planner_survives_a_restart_and_is_told(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    put_in_force(store, Settings())
    store.replan(policy_of("sjfs", Settings(), by="ann"))
    with caplog.at_level(logging.WARNING):
        assert put_in_force(store, Settings(planner="hrrn")) == "sjfs"
    assert (store.policy()["name"], store.policy()["by"]) == ("sjfs", "ann")
    assert "the planner 'sjfs' set by ann stays; the settings say 'hrrn'" in caplog.text


def test_the_knobs_are_always_those_of_the_settings(store: Store) -> None:
    store.replan(policy_of("sjfs", Settings(), by="ann"))
    settings = Settings(starvation_timeout=60, max_active_dags=3, new_dag_share=0.5, burst_window=2)
    put_in_force(store, settings)
    assert store.policy() == policy_of("sjfs", settings, by="ann")
    assert store.policy()["starvation_ms"] == "60000"


def test_once_the_settings_say_the_same_as_the_operator_they_decide_again(store: Store) -> None:
    store.replan(policy_of("sjfs", Settings(), by="ann"))
    put_in_force(store, Settings(planner="sjfs"))
    assert put_in_force(store, Settings(planner="hrrn")) == "hrrn"


def test_a_second_scheduler_with_the_same_settings_changes_nothing(store: Store) -> None:
    put_in_force(store, Settings())
    store.client.delete(store.keys.events)
    put_in_force(store, Settings())
    assert not store.client.exists(store.keys.events)


def test_a_planner_that_does_not_exist_is_refused_and_nothing_changes(store: Store) -> None:
    with pytest.raises(ConfigError, match="there is no planner 'nonsense'"):
        put_in_force(store, Settings(planner="nonsense"))
    assert store.policy() == {}


def test_a_planner_named_in_redis_imports_nothing_that_the_settings_do_not_name(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "class Planner:\n    def plan(self, jobs, slots, active):\n        return jobs\n"
    (tmp_path / "stranger.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    store.client.hset(store.keys.planner, mapping={"name": "stranger:Planner", "by": "ann"})
    assert put_in_force(store, Settings()) == "global"
    assert "stranger" not in sys.modules

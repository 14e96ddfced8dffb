"""What is not right yet: each of these fails until it is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import redis

from marie_celery.config import Settings
from marie_celery.scheduler.pace import Pace
from marie_celery.scheduler.policy import put_in_force
from marie_celery.scheduler.turns import Turn
from marie_celery.store.store import Store
from tests.unit.scheduler.duty_kit import Office


def away() -> Turn:
    raise redis.ConnectionError("connection refused")


def test_a_duty_that_keeps_failing_while_others_work_is_not_repeated_without_a_pause() -> None:
    """Each success of another duty makes everything due at once, also what has just failed: the process spins."""
    office = Office({"surveyor": away, "reaper": lambda: Turn("reaper", next_seconds=1.0)})
    office.clock.advance(0.025)
    office.turns_at_once(500)
    assert len(office.duties["surveyor"].times) == 1


def test_duties_that_fail_in_the_same_moment_back_off_once() -> None:
    """Eight duties are due together after an error; each of them doubles the pause, so the next one is the longest."""
    office = Office(dict.fromkeys(["surveyor", "promoter", "reranker", "watcher", "reaper"], away))
    office.live(60)
    assert office.pauses("surveyor")[0] < Pace.LONGEST


def test_the_first_idle_pause_is_the_initial_one() -> None:
    assert Pace().after(worked=False, slots_free=False) == 2.25


def test_a_planner_named_in_redis_imports_nothing_that_the_settings_do_not_name(
    fake_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Planner` refuses it when it plans; a scheduler that starts has imported it already."""
    code = "class Planner:\n    def plan(self, jobs, slots, active):\n        return jobs\n"
    (tmp_path / "stranger.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    fake_store.client.hset(fake_store.keys.planner, mapping={"name": "stranger:Planner", "by": "ann"})
    put_in_force(fake_store, Settings())
    assert "stranger" not in sys.modules

"""Operators and code about the same schedules, on fakeredis."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import fakeredis
import pytest

from marie_celery.config import Settings
from marie_celery.errors import ConfigError
from marie_celery.schedules import Schedule
from marie_celery.schedules.desk import Desk, Listed
from marie_celery.schedules.entry import Origin
from marie_celery.store.schedules import Scheduling

NOW = 1_767_268_800_000  # 2026-01-01 12:00 UTC
HOUR = 3_600_000
APP = "documents"


@pytest.fixture
def store() -> Iterator[Scheduling]:
    with fakeredis.FakeRedis(server=fakeredis.FakeServer(), decode_responses=True) as client:
        yield Scheduling(client, Settings(), now_ms=NOW)


@pytest.fixture
def desk(store: Scheduling) -> Desk:
    return Desk(store)


def made(cron: str = "0 * * * *", name: str = "nightly", **fields: Any) -> Schedule:
    return Schedule.make(name=name, dag="invoice", cron=cron, **fields)


def install(desk: Desk, *schedules: Schedule, app: str = APP) -> None:
    desk.install({schedule.name: schedule for schedule in schedules}, app)


def only(desk: Desk) -> Listed:
    (listed,) = desk.listing()
    return listed


class TestCode:
    def test_is_put_into_redis_with_its_next_slot(self, desk: Desk) -> None:
        install(desk, made())
        listed = only(desk)
        assert listed.entry is not None
        assert (listed.entry.origin, listed.entry.definition, listed.entry.version) == (Origin.CODE, made(), 1)
        assert (listed.condition, listed.state.number("next")) == ("on", NOW + HOUR)

    def test_that_says_the_same_again_changes_nothing(self, desk: Desk, store: Scheduling) -> None:
        install(desk, made())
        store.now_ms = NOW + 10 * HOUR
        install(desk, made())
        assert only(desk).state.number("next") == NOW + HOUR, "what was missed meanwhile is still known"
        assert desk.entry("nightly").version == 1

    def test_that_says_something_else_takes_effect(self, desk: Desk) -> None:
        install(desk, made())
        install(desk, made("30 * * * *"))
        assert only(desk).state.number("next") == NOW + HOUR // 2
        assert desk.entry("nightly").version == 2

    def test_a_pause_by_an_operator_outlives_a_change_of_code(self, desk: Desk) -> None:
        install(desk, made())
        desk.pause("nightly")
        install(desk, made("30 * * * *"))
        assert only(desk).condition == "paused"
        desk.resume("nightly")
        assert only(desk).state.number("next") == NOW + HOUR // 2

    def test_what_an_operator_has_edited_stays_and_everybody_is_told(
        self, desk: Desk, caplog: pytest.LogCaptureFixture
    ) -> None:
        install(desk, made())
        desk.add(made("15 * * * *"), replace=True)
        for _ in range(2):
            caplog.clear()
            with caplog.at_level(logging.WARNING):
                install(desk, made())
            assert [record.message for record in caplog.records] == [
                "the schedule 'nightly' was edited and stays as it is; code says cron='0 * * * *'"
            ]
        assert only(desk).condition == "on, edited, code says cron='0 * * * *'"
        assert desk.entry("nightly").definition.cron == "15 * * * *"
        assert only(desk).state.number("next") == NOW + HOUR // 4

    def test_reset_takes_it_again(self, desk: Desk) -> None:
        install(desk, made())
        desk.add(made("15 * * * *"), replace=True)
        install(desk, made("30 * * * *"))
        desk.reset("nightly")
        entry = desk.entry("nightly")
        assert (entry.definition, entry.origin) == (made("30 * * * *"), Origin.CODE)
        assert only(desk).condition == "on"

    def test_that_comes_to_say_what_the_operator_said_is_in_force_again(self, desk: Desk) -> None:
        install(desk, made())
        desk.add(made("15 * * * *"), replace=True)
        install(desk, made("15 * * * *"))
        assert desk.entry("nightly").origin is Origin.CODE

    def test_what_it_does_not_say_any_more_is_an_orphan_and_not_fired(
        self, desk: Desk, caplog: pytest.LogCaptureFixture
    ) -> None:
        install(desk, made())
        with caplog.at_level(logging.WARNING):
            install(desk)
        assert "is not in code any more and is not fired" in caplog.text
        assert only(desk).condition == "orphan"
        assert "next" not in only(desk).state.fields
        install(desk, made())
        assert (only(desk).condition, only(desk).state.number("next")) == ("on", NOW + HOUR)

    def test_an_edited_one_that_it_does_not_say_any_more_is_the_operators(self, desk: Desk) -> None:
        install(desk, made())
        desk.add(made("15 * * * *"), replace=True)
        install(desk)
        assert only(desk).condition == "on"
        desk.remove("nightly")

    def test_of_one_app_says_nothing_about_the_schedules_of_another(self, desk: Desk) -> None:
        install(desk, made())
        install(desk, made(name="other"), app="another")
        assert {listed.name: listed.condition for listed in desk.listing()} == {"nightly": "on", "other": "on"}


class TestOperators:
    def test_add_and_remove(self, desk: Desk, store: Scheduling) -> None:
        desk.add(made())
        assert desk.entry("nightly").origin is Origin.OPERATOR
        desk.remove("nightly")
        assert desk.listing() == []
        assert store.look_at_schedules(10).next_ms == -1

    def test_do_not_overwrite_by_accident(self, desk: Desk) -> None:
        desk.add(made())
        with pytest.raises(ConfigError, match="there is a schedule 'nightly' already"):
            desk.add(made("15 * * * *"))
        assert desk.entry("nightly").definition == made()

    def test_pause_and_resume_and_slots_meanwhile_are_left_out(self, desk: Desk, store: Scheduling) -> None:
        desk.add(made(catchup="all"))
        assert desk.pause("nightly")
        assert not desk.pause("nightly")
        assert (only(desk).condition, only(desk).state.number("next")) == ("paused", None)
        store.now_ms = NOW + 5 * HOUR
        assert desk.resume("nightly")
        assert not desk.resume("nightly")
        assert only(desk).state.number("next") == NOW + 6 * HOUR

    def test_cannot_remove_what_code_would_bring_back(self, desk: Desk) -> None:
        install(desk, made())
        with pytest.raises(ConfigError, match="is in code and would come back"):
            desk.remove("nightly")
        install(desk)
        desk.remove("nightly")
        assert desk.listing() == []

    def test_cannot_reset_what_code_never_said(self, desk: Desk) -> None:
        desk.add(made())
        with pytest.raises(ConfigError, match="code says nothing about the schedule 'nightly'"):
            desk.reset("nightly")

    @pytest.mark.parametrize("verb", ["pause", "resume", "reset", "remove", "entry"])
    def test_are_told_which_schedules_there_are(self, desk: Desk, verb: str) -> None:
        desk.add(made())
        with pytest.raises(ConfigError, match="there is no schedule 'nonsense'; there are nightly"):
            getattr(desk, verb)("nonsense")


class TestWhatSomebodyWroteByHand:
    @pytest.mark.parametrize("text", ["", "nonsense", "{}", '{"version": 1, "definition": {"cron": "x"}}'])
    def test_is_shown_as_broken_and_can_be_removed(self, desk: Desk, store: Scheduling, text: str) -> None:
        store.client.hset(store.keys.schedules, "nightly", text)
        assert only(desk).condition.startswith("broken: ")
        with pytest.raises(ConfigError, match="cannot be read"):
            desk.pause("nightly")
        install(desk, made(), made(name="other"))
        assert store.schedule_definition("nightly") == text, "code does not guess what was meant"
        desk.remove("nightly")
        assert only(desk).name == "other"


def test_a_change_that_meets_another_is_thought_over(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.add(made())
    put = Scheduling.put_schedule
    calls = []

    def meddled(self: Scheduling, *args: Any, **options: Any) -> bool:
        calls.append(args)
        if len(calls) == 1:
            Desk(self).add(made("45 * * * *"), replace=True)
        return put(self, *args, **options)

    monkeypatch.setattr(Scheduling, "put_schedule", meddled)
    desk.pause("nightly")
    entry = desk.entry("nightly")
    assert (entry.paused, entry.definition.cron, entry.version) == (True, "45 * * * *", 3)

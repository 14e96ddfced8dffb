from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from marie_celery.errors import ConfigError
from marie_celery.schedules import Schedule
from marie_celery.schedules.catchup import PUNCTUAL_MS, choose
from marie_celery.schedules.schedule import in_epoch_ms

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
MIDNIGHT = in_epoch_ms(datetime(2026, 6, 1, tzinfo=UTC))


def made(**fields: Any) -> Schedule:
    return Schedule.make(**{"name": "nightly", "dag": "invoice", "cron": "0 * * * *", **fields})


class TestSlots:
    def test_are_after_the_first_moment_and_up_to_the_second(self) -> None:
        assert list(made().slots(MIDNIGHT, MIDNIGHT + 2 * HOUR)) == [MIDNIGHT + HOUR, MIDNIGHT + 2 * HOUR]
        assert list(made().slots(MIDNIGHT - 1, MIDNIGHT)) == [MIDNIGHT]

    def test_are_within_start_and_end_both_included(self) -> None:
        begin = datetime(2026, 6, 1, 3, tzinfo=UTC)
        schedule = made(start=begin, end=begin + timedelta(hours=1))
        assert list(schedule.slots(0, MIDNIGHT + DAY)) == [MIDNIGHT + 3 * HOUR, MIDNIGHT + 4 * HOUR]
        assert schedule.next_slot(MIDNIGHT + 4 * HOUR) is None


class TestJitter:
    def test_is_the_same_for_everybody(self) -> None:
        assert made(jitter=600).due_ms(MIDNIGHT) == made(jitter=600).due_ms(MIDNIGHT)

    def test_spreads_slots_and_names_over_its_span(self) -> None:
        delays = [made(jitter=600).due_ms(MIDNIGHT + n * HOUR) - n * HOUR - MIDNIGHT for n in range(1000)]
        assert min(delays) >= 0
        assert max(delays) <= 600_000
        tenths = Counter(delay * 10 // 600_001 for delay in delays)
        assert len(tenths) == 10
        assert all(60 <= number <= 140 for number in tenths.values())
        assert made(jitter=600, name="other").due_ms(MIDNIGHT) != made(jitter=600).due_ms(MIDNIGHT)

    def test_is_none_unless_asked_for(self) -> None:
        assert made().due_ms(MIDNIGHT) == MIDNIGHT


class TestCatchup:
    """The slot of midnight is due, and the scheduler comes late."""

    @pytest.mark.parametrize("catchup", ["none", "latest", "all"])
    def test_a_slot_that_is_on_time_is_fired_whatever_the_rule(self, catchup: str) -> None:
        choice = choose(made(catchup=catchup), MIDNIGHT, MIDNIGHT + 20)
        assert (choice.slot, choice.next_slot) == (MIDNIGHT, MIDNIGHT + HOUR)

    def test_none_leaves_out_what_is_more_than_a_minute_late(self) -> None:
        schedule = made(catchup="none")
        assert choose(schedule, MIDNIGHT, MIDNIGHT + PUNCTUAL_MS).slot == MIDNIGHT
        choice = choose(schedule, MIDNIGHT, MIDNIGHT + 3 * HOUR + PUNCTUAL_MS + 1)
        assert (choice.slot, choice.next_slot) == (None, MIDNIGHT + 4 * HOUR)

    def test_none_fires_the_slot_that_is_just_due_after_a_long_absence(self) -> None:
        assert choose(made(catchup="none"), MIDNIGHT, MIDNIGHT + 3 * HOUR + 5).slot == MIDNIGHT + 3 * HOUR

    def test_latest_fires_the_last_of_many(self) -> None:
        choice = choose(made(catchup="latest"), MIDNIGHT, MIDNIGHT + 3 * HOUR + 30 * MINUTE)
        assert (choice.slot, choice.next_slot) == (MIDNIGHT + 3 * HOUR, MIDNIGHT + 4 * HOUR)

    def test_all_fires_one_after_the_other(self) -> None:
        choice = choose(made(catchup="all"), MIDNIGHT, MIDNIGHT + 30 * HOUR)
        assert (choice.slot, choice.next_slot) == (MIDNIGHT, MIDNIGHT + HOUR)

    def test_the_last_of_a_year_of_minutes_is_found_without_reckoning_them_all(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        looked_at = 0
        due_ms = Schedule.due_ms

        def counting(self: Schedule, slot: int) -> int:
            nonlocal looked_at
            looked_at += 1
            return due_ms(self, slot)

        monkeypatch.setattr(Schedule, "due_ms", counting)
        choice = choose(made(cron="* * * * *"), MIDNIGHT, MIDNIGHT + 365 * DAY + 5)
        assert choice.slot == MIDNIGHT + 365 * DAY
        assert looked_at < 10

    def test_a_slot_whose_jitter_is_not_over_is_not_the_latest(self) -> None:
        schedule = made(jitter=3000)
        later = schedule.due_ms(MIDNIGHT + HOUR)
        assert choose(schedule, MIDNIGHT, later - 1).slot == MIDNIGHT
        assert choose(schedule, MIDNIGHT, later).slot == MIDNIGHT + HOUR

    @pytest.mark.parametrize("catchup", ["none", "latest", "all"])
    def test_the_last_slot_has_none_after_it(self, catchup: str) -> None:
        schedule = made(catchup=catchup, end=datetime(2026, 6, 1, tzinfo=UTC))
        assert choose(schedule, MIDNIGHT, MIDNIGHT + 1).next_slot is None


class TestValidation:
    def test_all_problems_are_told_in_one_error(self) -> None:
        with pytest.raises(ConfigError) as error:
            made(cron="nonsense", timezone="Mars/Base", jitter=-1, overlap="perhaps", args=[{1, 2}], colour="red")
        text = str(error.value)
        assert text.startswith("schedule 'nightly' was refused, 6 problems:")
        for part in ("cron: 'nonsense'", "timezone: 'Mars/Base'", "jitter:", "overlap:", "args:", "colour: is unknown"):
            assert part in text

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"name": "a:b"}, "name"),
            ({"name": ""}, "name"),
            ({"start": datetime(2026, 1, 1)}, "start: Input should have timezone info"),
            (
                {"start": datetime(2026, 2, 1, tzinfo=UTC), "end": datetime(2026, 1, 1, tzinfo=UTC)},
                "end: it is before start",
            ),
            ({"timezone": "../etc/passwd"}, "timezone"),
            ({"timezone": ""}, "timezone"),
            ({"kwargs": {"x": float("nan")}}, "JSON cannot carry it"),
            ({"options": {"key": "mine"}}, "key belongs to the slot"),
            ({"options": {"duplicates": "replace"}}, "duplicates belongs to the slot"),
            ({"options": {"gate": "probe"}}, "gate is a task: name it in @dag"),
            ({"options": {"colour": 1}}, "unknown option colour"),
            ({"options": {"priority": 1000}}, "priority 1000"),
            ({"options": {"soft_sla": "2h", "hard_sla": "1h"}}, "hard_sla is before soft_sla"),
            ({"options": {"soft_sla": "2026-01-01T00:00:00+00:00"}}, "is a span such as '90m'"),
            ({"options": {"on_hard_sla": "explode"}}, "on_hard_sla 'explode' is unknown"),
            ({"options": {"labels": {"a": object()}}}, "JSON cannot carry them"),
        ],
    )
    def test_what_cannot_work_is_refused(self, fields: dict[str, Any], words: str) -> None:
        with pytest.raises(ConfigError, match=r"schedule '.*' was refused: ") as error:
            made(**fields)
        assert words in str(error.value)

    def test_a_definition_survives_the_way_through_json(self) -> None:
        schedule = made(
            timezone="Europe/Berlin",
            jitter=1.5,
            start=datetime(2026, 1, 1, tzinfo=UTC),
            args=["a", [1, None]],
            kwargs={"b": {}},
            options={"soft_sla": timedelta(minutes=90), "priority": "high"},
        )
        again = Schedule.model_validate_json(schedule.model_dump_json())
        assert again == schedule
        assert again.options == {"soft_sla": "5400000ms", "priority": "high"}
        assert again.args == ["a", [1, None]]

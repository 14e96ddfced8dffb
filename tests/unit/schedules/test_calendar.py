"""Slots where the clocks change. Berlin: 2026-03-29 02:00 → 03:00 and 2026-10-25 03:00 → 02:00; New York: 2026-03-08
02:00 → 03:00 and 2026-11-01 02:00 → 01:00."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marie_celery.errors import ConfigError
from marie_celery.schedules import Schedule
from marie_celery.schedules.calendar import Calendar, check_cron

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
ZONES = [BERLIN, NEW_YORK, "Australia/Lord_Howe", "Pacific/Apia", "America/Sao_Paulo", "Asia/Kathmandu", "UTC"]


def ms(text: str, zone: str, fold: int = 0) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp() * 1000)


def slots(cron: str, zone: str, after: str, until: str) -> list[str]:
    """As the clock on the wall shows them, with the offset."""
    schedule = Schedule.make(name="s", dag="d", cron=cron, timezone=zone)
    found = schedule.slots(ms(after, zone), ms(until, zone))
    return [datetime.fromtimestamp(slot / 1000, ZoneInfo(zone)).strftime("%d %H:%M%z") for slot in found]


def test_a_daily_slot_keeps_its_local_time_in_summer_and_winter() -> None:
    assert slots("0 9 * * *", BERLIN, "2026-03-28T00:00", "2026-03-30T23:00") == [
        "28 09:00+0100",
        "29 09:00+0200",
        "30 09:00+0200",
    ]


@pytest.mark.parametrize(
    ("zone", "day", "winter", "summer"),
    [(BERLIN, "2026-03-29", "+0100", "+0200"), (NEW_YORK, "2026-03-08", "-0500", "-0400")],
)
class TestWhenTheClocksGoForward:
    def test_a_time_that_does_not_exist_fires_at_the_moment_after_the_gap(
        self, zone: str, day: str, winter: str, summer: str
    ) -> None:
        number = day[-2:]
        assert slots("30 2 * * *", zone, f"{day}T00:00", f"{day}T23:00") == [f"{number} 03:00{summer}"]

    def test_several_such_times_fire_once(self, zone: str, day: str, winter: str, summer: str) -> None:
        number = day[-2:]
        assert slots("*/15 2-3 * * *", zone, f"{day}T00:00", f"{day}T03:20") == [
            f"{number} 03:00{summer}",
            f"{number} 03:15{summer}",
        ]

    def test_every_hour_is_every_real_hour(self, zone: str, day: str, winter: str, summer: str) -> None:
        number = day[-2:]
        assert slots("0 * * * *", zone, f"{day}T00:30", f"{day}T04:00") == [
            f"{number} 01:00{winter}",
            f"{number} 03:00{summer}",
            f"{number} 04:00{summer}",
        ]


@pytest.mark.parametrize(
    ("zone", "day", "hour", "summer", "winter"),
    [(BERLIN, "2026-10-25", 2, "+0200", "+0100"), (NEW_YORK, "2026-11-01", 1, "-0400", "-0500")],
)
class TestWhenTheClocksGoBack:
    def test_a_time_that_comes_twice_fires_the_first_time(
        self, zone: str, day: str, hour: int, summer: str, winter: str
    ) -> None:
        number = day[-2:]
        assert slots(f"30 {hour} * * *", zone, f"{day}T00:00", f"{day}T23:00") == [f"{number} 0{hour}:30{summer}"]

    def test_every_half_hour_is_every_real_half_hour(
        self, zone: str, day: str, hour: int, summer: str, winter: str
    ) -> None:
        number = day[-2:]
        assert slots("*/30 * * * *", zone, f"{day}T0{hour}:00", f"{day}T0{hour + 1}:00") == [
            f"{number} 0{hour}:30{summer}",
            f"{number} 0{hour}:00{winter}",
            f"{number} 0{hour}:30{winter}",
            f"{number} 0{hour + 1}:00{winter}",
        ]

    def test_asked_within_the_second_hour_the_daily_slot_is_over(
        self, zone: str, day: str, hour: int, summer: str, winter: str
    ) -> None:
        schedule = Schedule.make(name="s", dag="d", cron=f"30 {hour} * * *", timezone=zone)
        second = ms(f"{day}T0{hour}:10", zone, fold=1)
        found = schedule.next_slot(second)
        assert found is not None
        assert found - second > 20 * HOUR_MS


def test_a_day_that_was_left_out_fires_when_the_next_begins() -> None:
    assert slots("0 12 * * *", "Pacific/Apia", "2011-12-29T13:00", "2011-12-31T13:00") == [
        "31 00:00+1400",
        "31 12:00+1400",
    ]


@given(
    zone=st.sampled_from(ZONES),
    start=st.integers(1_300_000_000, 1_800_000_000),
    minutes=st.sampled_from(["0", "30", "*/15", "59"]),
    hours=st.sampled_from(["*", "2", "0-4", "*/2"]),
)
@settings(max_examples=150, deadline=None)
def test_slots_only_go_forward_and_do_not_depend_on_where_one_begins(
    zone: str, start: int, minutes: str, hours: str
) -> None:
    schedule = Schedule.make(name="s", dag="d", cron=f"{minutes} {hours} * * *", timezone=zone)
    begin = start * 1000
    found = list(schedule.slots(begin, begin + 4 * DAY_MS))
    assert found
    assert all(begin < slot <= begin + 4 * DAY_MS for slot in found)
    assert all(one < other for one, other in pairwise(found))
    for one, other in pairwise(found):
        assert schedule.next_slot(one) == other
        assert schedule.next_slot(other - 1) == other


@given(zone=st.sampled_from(ZONES), start=st.integers(1_300_000_000, 1_800_000_000))
@settings(max_examples=100, deadline=None)
def test_an_hourly_slot_is_an_hour_after_the_one_before_where_offsets_are_whole_hours(zone: str, start: int) -> None:
    schedule = Schedule.make(name="s", dag="d", cron="0 * * * *", timezone=zone)
    found = list(schedule.slots(start * 1000, start * 1000 + 3 * DAY_MS))
    if zone != "Australia/Lord_Howe":
        assert {other - one for one, other in pairwise(found)} == {HOUR_MS}


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("", "must have 5 fields"),
        ("* * * * * *", "must have 5 fields"),
        ("61 * * * *", "is no cron expression"),
        ("x * * * *", "is no cron expression"),
        ("0 0 30 2 *", "never comes"),
        ("H 2 * * *", "to chance"),
        ("R(0-9) 2 * * *", "to chance"),
        ("0 5-5 * * *", "a range from 5 to itself; write 5"),
        ("0 0 * * mon-mon", "a range from mon to itself"),
        ("@reboot", "is unknown; there are @hourly"),
    ],
)
def test_a_bad_expression_is_refused(cron: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words.replace("(", r"\(")):
        check_cron(cron)


@pytest.mark.parametrize("cron", ["0 0 29 2 *", "@daily", "0 0 l * *", "0 22-2 * * *", "0 0 * mar fri", "1-15 * * * *"])
def test_unusual_expressions_are_fine(cron: str) -> None:
    assert check_cron(cron) == cron


def test_all_hours_however_they_are_written_are_every_hour() -> None:
    zone = ZoneInfo("UTC")
    assert all(Calendar(f"0 {hours} * * *", zone).every_hour for hours in ("*", "*/1", "0-23"))
    assert not any(Calendar(f"0 {hours} * * *", zone).every_hour for hours in ("2", "*/2", "0-22"))

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from marie_celery.errors import ConfigError
from marie_celery.model.sla import Sla, SlaTime, parse_sla

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOON_MS = 1_767_268_800_000


@pytest.mark.parametrize(
    "noon",
    [
        NOON,
        NOON.astimezone(ZoneInfo("America/New_York")),
        NOON.astimezone(ZoneInfo("Asia/Kathmandu")),
        NOON.astimezone(timezone(timedelta(hours=-3, minutes=-30))),
        "2026-01-01T12:00:00Z",
        "2026-01-01T13:00:00+01:00",
    ],
)
def test_a_moment_is_the_same_in_every_zone(noon):
    assert parse_sla(noon) == SlaTime(NOON_MS, relative=False)


def test_the_hour_that_a_clock_repeats_in_autumn_is_two_hours():
    berlin = ZoneInfo("Europe/Berlin")
    first = parse_sla(datetime(2026, 10, 25, 2, 30, tzinfo=berlin))
    second = parse_sla(datetime(2026, 10, 25, 2, 30, tzinfo=berlin, fold=1))
    assert second.ms - first.ms == 3_600_000


@pytest.mark.parametrize("span", ["90m", "1h30m", timedelta(minutes=90)])
def test_a_span_begins_when_the_run_is_submitted(span):
    sla = parse_sla(span)
    assert sla == SlaTime(5_400_000, relative=True)
    assert sla.at(NOON_MS) == NOON_MS + 5_400_000


def test_a_moment_does_not_depend_on_the_submission():
    assert parse_sla(NOON).at(5) == NOON_MS


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (datetime(2026, 1, 1, 12), "hard_sla 2026-01-01T12:00:00 has no time zone"),
        ("2026-01-01T12:00:00", "hard_sla 2026-01-01T12:00:00 has no time zone"),
        ("2026-13-01T12:00:00Z", "hard_sla '2026-13-01T12:00:00Z' is no ISO date and time"),
        (timedelta(0), "hard_sla must be longer than zero"),
        (timedelta(seconds=-1), "hard_sla must be longer than zero"),
        (timedelta.max, "hard_sla is longer than a hundred years"),
        ("tomorrow", "hard_sla 'tomorrow' is no duration: write it like '45s', '90m', '1h30m' or '2d'"),
        (90, "hard_sla must be a datetime, a timedelta or text such as '90m', not 90"),
        (True, "hard_sla must be a datetime, a timedelta or text such as '90m', not True"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(value, message):
    with pytest.raises(ConfigError) as refused:
        Sla.parse(hard=value)
    assert str(refused.value) == message


def test_a_run_may_have_none_one_or_both():
    assert Sla.parse().at(NOON_MS) == (None, None)
    assert Sla.parse(soft="10m").at(0) == (600_000, None)
    assert Sla.parse(hard=NOON).at(0) == (None, NOON_MS)
    assert Sla.parse("10m", "10m").at(0) == (600_000, 600_000)


@pytest.mark.parametrize(("soft", "hard"), [("11m", "10m"), (NOON, NOON - timedelta(milliseconds=1))])
def test_a_hard_sla_before_the_soft_one_is_refused_at_once(soft, hard):
    with pytest.raises(ConfigError, match="hard_sla is before soft_sla"):
        Sla.parse(soft, hard)


def test_a_span_and_a_moment_are_compared_when_the_submission_is_known():
    sla = Sla.parse("10m", NOON)
    assert sla.at(NOON_MS - 600_000) == (NOON_MS, NOON_MS)
    with pytest.raises(ConfigError, match="hard_sla is before soft_sla"):
        sla.at(NOON_MS - 599_999)

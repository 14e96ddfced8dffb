import pytest

from marie_celery.errors import ConfigError
from marie_celery.model.durations import parse_duration


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("45s", 45_000),
        ("90m", 5_400_000),
        ("1h30m", 5_400_000),
        ("1h 30m", 5_400_000),
        ("2d", 172_800_000),
        ("1w2d3h4m5s6ms", 788_645_006),
        ("250ms", 250),
        ("1.5h", 5_400_000),
        ("0.1s", 100),
        (" 10 m ", 600_000),
    ],
)
def test_a_duration_is_read_as_people_write_it(text, ms):
    assert parse_duration(text) == ms


@pytest.mark.parametrize(
    "text", ["", " ", "90", "m", "soon", "30m1h", "1h1h", "-5m", "1h30", "1,5h", "1e3s", "5M", "1h\n2x"]
)
def test_nonsense_is_refused_by_the_name_it_was_given_for(text):
    with pytest.raises(ConfigError, match=r"^soft_sla .*is no duration") as refused:
        parse_duration(text, "soft_sla")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["0s", "0h0m", "0.0001s"])
def test_a_duration_of_nothing_is_refused(text):
    with pytest.raises(ConfigError, match="longer than zero"):
        parse_duration(text)


def test_a_hundred_years_are_the_most():
    assert parse_duration("36500d") == 36_500 * 86_400_000
    with pytest.raises(ConfigError, match="a hundred years"):
        parse_duration("36501d")

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marie_celery.errors import ConfigError
from marie_celery.model.priority import MAX_COMBINED, PriorityMode, combine, parse_priority

scores = st.integers(0, 1999)
priorities = st.integers(0, 999)


@pytest.mark.parametrize(
    ("name", "number"), [("background", 0), ("low", 20), ("normal", 50), ("high", 80), ("critical", 100)]
)
def test_a_name_stands_for_its_number(name, number):
    assert parse_priority(name) == number


@pytest.mark.parametrize("value", [0, 1, 999, "0", "999"])
def test_numbers_of_the_range_are_taken_as_they_are(value):
    assert parse_priority(value) == int(value)


@pytest.mark.parametrize(
    "value", [-1, 1000, "-1", "1000", "", "urgent", "High", " high", "5.0", 5.0, True, None]
)
def test_anything_else_is_refused_in_one_line_that_shows_it_and_names_the_choices(value):
    with pytest.raises(ConfigError) as refused:
        parse_priority(value)
    message = str(refused.value)
    assert repr(value) in message or str(value) in message
    assert "0–999" in message
    assert "critical" in message
    assert "\n" not in message


def test_the_sla_decides_first_by_default_and_the_user_at_a_tie():
    mode = PriorityMode.SLA_FIRST
    assert combine(mode, 2, 0) > combine(mode, 1, 999)
    assert combine(mode, 1, 51) > combine(mode, 1, 50)


def test_the_user_can_decide_first():
    mode = PriorityMode.USER_FIRST
    assert combine(mode, 0, 51) > combine(mode, 1999, 50)
    assert combine(mode, 1, 50) > combine(mode, 0, 50)


def test_both_can_be_added_or_the_higher_one_taken():
    assert combine(PriorityMode.SUM, 300, 50) == 350
    assert combine(PriorityMode.MAX, 300, 50) == 300
    assert combine(PriorityMode.MAX, 30, 50) == 50


@given(st.sampled_from(PriorityMode), scores, priorities)
def test_a_combined_priority_fits_its_range(mode, score, priority):
    assert 0 <= combine(mode, score, priority) <= MAX_COMBINED < 2**21


@given(st.sampled_from(PriorityMode), scores, scores, priorities, priorities)
def test_more_urgency_never_combines_to_less(mode, score_a, score_b, priority_a, priority_b):
    low, high = sorted((score_a, score_b))
    less, more = sorted((priority_a, priority_b))
    assert combine(mode, low, less) <= combine(mode, high, more)

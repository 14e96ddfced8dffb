import pytest
from hypothesis import given
from hypothesis import strategies as st

from marie_celery.model.ranges import pack, unpack


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([], ""),
        ([0], "0"),
        ([0, 1], "0-1"),
        ([1, 2, 3, 7], "1-3 7"),
        ([7, 3, 2], "7 3 2"),
        ([5, 5], "5 5"),
        ([3, 4, 0, 1], "3-4 0-1"),
    ],
)
def test_neighbours_that_count_up_are_joined(numbers, text):
    assert pack(numbers) == text
    assert list(unpack(text)) == numbers


@given(st.lists(st.integers(0, 999_999)))
def test_what_was_packed_comes_back_in_its_order(numbers):
    assert list(unpack(pack(numbers))) == numbers


def test_a_fan_out_of_100_000_takes_a_few_bytes():
    assert pack(range(1, 100_001)) == "1-100000"

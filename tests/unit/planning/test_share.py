import pytest
from hypothesis import given
from hypothesis import strategies as st

from marie_celery.errors import ConfigError
from marie_celery.planning.share import choose, interleave, share_in_thousandths


def choices(share, number, credit=0):
    taken = []
    for _ in range(number):
        take_new, credit = choose(credit, share_in_thousandths(share), active_waits=True, new_waits=True)
        taken.append(take_new)
    return taken


def test_three_of_ten_choices_go_to_new_runs_while_both_wait():
    assert sum(choices(0.3, 10)) == 3
    assert sum(choices(0.3, 10_000)) == 3_000


@given(st.floats(0, 1), st.integers(0, 500))
def test_the_share_is_kept_at_every_moment_within_one_choice(share, number):
    assert abs(sum(choices(share, number)) - number * share_in_thousandths(share) / 1000) < 1


@given(st.floats(0.001, 0.5))
def test_new_runs_are_spread_evenly(share):
    taken = choices(share, 3_000)
    gaps = [len(gap) for gap in "".join("n" if new else "a" for new in taken).strip("a").split("n")[1:-1]]
    assert not gaps or max(gaps) - min(gaps) <= 1


@pytest.mark.parametrize(("share", "new"), [(0.0, 0), (1.0, 50)])
def test_a_share_of_nothing_or_all_is_just_that(share, new):
    assert sum(choices(share, 50)) == new


@given(st.integers(0, 999), st.integers(0, 1000))
def test_where_only_one_kind_waits_it_is_taken_and_the_credit_stays(credit, share):
    assert choose(credit, share, active_waits=True, new_waits=False) == (False, credit)
    assert choose(credit, share, active_waits=False, new_waits=True) == (True, credit)


def test_two_ordered_lists_become_one():
    assert "".join(interleave("abcdefgh", "XYZ", share_in_thousandths(0.3))) == "abcXdeYfgZh"


@given(st.lists(st.integers()), st.lists(st.integers()), st.integers(0, 1000), st.integers(0, 999))
def test_both_lists_keep_their_order_and_nothing_is_lost(active, new, share, credit):
    merged = list(interleave([(0, n) for n in active], [(1, n) for n in new], share, credit))
    assert [n for kind, n in merged if kind == 0] == active
    assert [n for kind, n in merged if kind == 1] == new


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_outside_zero_to_one_is_refused(share):
    with pytest.raises(ConfigError, match="new_dag_share must be between 0 and 1"):
        share_in_thousandths(share)
